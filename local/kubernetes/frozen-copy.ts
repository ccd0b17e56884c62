/** Copies that were made here: they are frozen to the ground, so that a copy of one is itself. */
const frozen = new WeakSet<object>();

/**
 * A copy of plain JSON that nobody can change, without members that are undefined. Parts of an earlier copy are taken
 * over as they are, so that to change one field of a big object costs what the fields on its path cost.
 */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null || frozen.has(value)) return value;
  const copy: unknown = Array.isArray(value) ? value.map(frozenCopy) : copyOfMembers(value);
  frozen.add(copy as object);
  return Object.freeze(copy) as T;
}

function copyOfMembers(value: object): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) copy[name] = frozenCopy(member);
  }
  return copy;
}
