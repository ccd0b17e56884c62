/** A step of a path: a member, a place of a list, all of it, or those whose member is a text. */
const STEP = /^(?:\.([\w-]+)|\['([^']+)'\]|\[(\d+)\]|\[(\*)\]|\[\?\(\s*@\.([\w.-]+)\s*==\s*["']([^"']*)["']\s*\)\])/;

/**
 * The values at a path of the JSONPath that printer columns and scale subresources use: `.status.ports[0].port`,
 * `.status.conditions[?(@.type=="Valid")].status`. Another form is an error.
 */
export function valuesAt(root: unknown, path: string): readonly unknown[] {
  let values: unknown[] = [root];
  for (let rest = path; rest !== ''; ) {
    const step = STEP.exec(rest);
    if (!step) throw new Error(`the JSONPath ${path} is not understood at "${rest}"`);
    const [whole, member, quoted, index, all, field, text] = step;
    rest = rest.slice(whole.length);
    const name = member ?? quoted;
    values = values.flatMap((value) => {
      if (name !== undefined) return memberOf(value, name);
      if (!Array.isArray(value)) return [];
      if (index !== undefined) return value.slice(Number(index), Number(index) + 1);
      if (all !== undefined) return value;
      return value.filter((item) => valuesAt(item, `.${field}`).some((found) => String(found) === text));
    });
  }
  return values;
}

function memberOf(value: unknown, name: string): unknown[] {
  const member = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return member === undefined ? [] : [member];
}

/** A copy of `root` with `value` at a path of members: `.spec.replicas`. */
export function withValueAt<T extends object>(root: T, path: string, value: unknown): T {
  const [name = '', ...rest] = path.replace(/^\./, '').split('.');
  const members = root as Record<string, unknown>;
  const inner = rest.length === 0 ? value : withValueAt((members[name] ?? {}) as object, `.${rest.join('.')}`, value);
  return { ...root, [name]: inner };
}
