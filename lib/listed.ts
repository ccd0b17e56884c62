/** `names` as a message has room for them: the first `most`, and how many there are besides, as in `a, b and 3 more`. */
export function listed(names: readonly string[], most: number): string {
  const more = names.length - most;
  const named = names.slice(0, most).join(', ');
  return more > 0 ? `${named} and ${more} more` : named;
}
