/** What intrinsic functions refer to, in one stack. */
export interface Scope {
  /** Value of `Ref` to a resource, a parameter or a pseudo parameter; undefined when there is no such thing here. */
  ref(name: string): unknown;
  /** Value of `Fn::GetAtt`; undefined when there is no such thing here. */
  attribute(logicalId: string, attribute: string): unknown;
  /** Value that another stack exports; undefined when none does. */
  imported(exportName: string): unknown;
}

/** An intrinsic function that is not known here, or that refers to what is not there. */
class IntrinsicError extends Error {
  override readonly name = 'IntrinsicError';
}

type Evaluate = (argument: unknown, scope: Scope, path: string) => unknown;

const FUNCTIONS: Readonly<Record<string, Evaluate>> = {
  Ref: (argument, scope, path) => found(scope.ref(text(argument, path)), `Ref to ${argument}`, path),
  'Fn::GetAtt': (argument, scope, path) => {
    const [logicalId, attribute] = Array.isArray(argument) ? argument : split(text(argument, path));
    return found(scope.attribute(text(logicalId, path), text(attribute, path)), `${logicalId}.${attribute}`, path);
  },
  'Fn::ImportValue': (argument, scope, path) => {
    const name = text(resolveIntrinsics(argument, scope, path), path);
    return found(scope.imported(name), `export ${name}`, path);
  },
  'Fn::Join': (argument, scope, path) => {
    const [separator, parts] = list(argument, path);
    return list(resolveIntrinsics(parts, scope, path), path)
      .map((part) => text(part, path))
      .join(text(separator, path));
  },
  'Fn::Select': (argument, scope, path) => {
    const [index, parts] = list(argument, path);
    return found(list(resolveIntrinsics(parts, scope, path), path)[Number(index)], `element ${index}`, path);
  },
  'Fn::Split': (argument, scope, path) => {
    const [separator, whole] = list(argument, path);
    return text(resolveIntrinsics(whole, scope, path), path).split(text(separator, path));
  },
  'Fn::Sub': (argument, scope, path) => {
    const [template, own] = Array.isArray(argument) ? argument : [argument, {}];
    const values = resolveIntrinsics(own, scope, path) as Readonly<Record<string, unknown>>;
    return text(template, path).replace(/\$\{(!?)([^}]+)\}/g, (_, literal: string, name: string) => {
      if (literal !== '') return `\${${name}}`;
      if (Object.hasOwn(values, name)) return text(values[name], path);
      const [logicalId, attribute] = split(name);
      const value = attribute === undefined ? scope.ref(name) : scope.attribute(logicalId, attribute);
      return text(found(value, name, path), path);
    });
  },
};

/**
 * `value` with every intrinsic function in it replaced by what it comes to.
 *
 * @param path where the value stands, for errors
 * @throws IntrinsicError
 */
export function resolveIntrinsics(value: unknown, scope: Scope, path: string): unknown {
  if (Array.isArray(value)) return value.map((item, index) => resolveIntrinsics(item, scope, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [name, argument] = entries[0] ?? ['', undefined];
  if (entries.length === 1 && (name === 'Ref' || name.startsWith('Fn::'))) {
    const evaluate = FUNCTIONS[name];
    if (evaluate === undefined) {
      throw new IntrinsicError(
        `${path}: ${name} is not known to the local engine; add it to local/template/intrinsics.ts`,
      );
    }
    return evaluate(argument, scope, path);
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, resolveIntrinsics(item, scope, `${path}.${key}`)]));
}

function split(name: string): [string, string | undefined] {
  const dot = name.indexOf('.');
  return dot < 0 ? [name, undefined] : [name.slice(0, dot), name.slice(dot + 1)];
}

function found<T>(value: T | undefined, what: string, path: string): T {
  if (value === undefined) throw new IntrinsicError(`${path}: the local engine has no ${what}`);
  return value;
}

function text(value: unknown, path: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new IntrinsicError(`${path}: expected a text, found ${JSON.stringify(value)}`);
}

function list(value: unknown, path: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw new IntrinsicError(`${path}: expected a list, found ${JSON.stringify(value)}`);
}
