/** Whether an event passes. */
export type Filter = (event: unknown) => boolean;

/** A filter pattern that Lambda would refuse. */
export class FilterPatternError extends Error {
  override readonly name = 'FilterPatternError';
}

/** Characters of one pattern. Source: Lambda API, `Filter`. */
const PATTERN_LENGTH = 4096;

/**
 * `siblings` are the values at the same place of all elements, where an array lies above: a field does not exist only
 * if no element has it, while everything else must hold within one of them.
 */
type Test = (value: unknown, siblings: readonly unknown[]) => boolean;

/** Tests one value that is no object and no array. */
type LeafTest = (value: unknown) => boolean;

/**
 * Compiles a filter pattern, as Lambda's event filtering has them: keys are all to match, of a list one element.
 *
 * Source: Lambda developer guide, "Filter rule syntax". What EventBridge has beyond it (wildcard, cidr) is refused.
 *
 * @param pattern JSON text
 * @throws FilterPatternError
 */
export function compileFilterPattern(pattern: string): Filter {
  if (pattern.length > PATTERN_LENGTH) {
    throw errorAt('', `has ${pattern.length} characters, at most ${PATTERN_LENGTH} may be`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(pattern);
  } catch (cause) {
    throw new FilterPatternError(`is no JSON: ${(cause as Error).message}`, { cause });
  }
  if (!isObject(parsed)) throw errorAt('', `expected an object, found ${JSON.stringify(parsed)}`);
  const test = compileObject(parsed, '');
  return (event) => test(event, [event]);
}

function compileObject(pattern: Readonly<Record<string, unknown>>, path: string): Test {
  const tests = Object.entries(pattern).map(([key, node]): Test => {
    if (key === '$or') return compileOr(node, join(path, key));
    const test = compileNode(node, join(path, key));
    return (value, siblings) =>
      test(
        childrenOf(value, key)[0],
        siblings.flatMap((one) => childrenOf(one, key)),
      );
  });
  if (tests.length === 0) throw errorAt(path, 'an empty object matches nothing that can be said');
  const all: Test = (value, siblings) => tests.every((test) => test(value, siblings));
  return (value, siblings) => {
    if (!Array.isArray(value)) return all(value, siblings);
    const elements = flat(value);
    // An empty array is as if it were not there.
    return elements.length === 0 ? all(undefined, siblings) : elements.some((element) => all(element, siblings));
  };
}

function compileNode(node: unknown, path: string): Test {
  if (Array.isArray(node)) return compileList(node, path);
  if (isObject(node)) return compileObject(node, path);
  throw errorAt(path, `expected a list or an object, found ${JSON.stringify(node)}`);
}

function compileOr(node: unknown, path: string): Test {
  if (!Array.isArray(node) || node.length < 2) {
    throw errorAt(path, `expected a list of at least two objects, found ${JSON.stringify(node)}`);
  }
  const tests = node.map((branch, index) => {
    const where = `${path}[${index}]`;
    if (!isObject(branch)) {
      throw errorAt(where, `expected an object, found ${JSON.stringify(branch)}`);
    }
    return compileObject(branch, where);
  });
  return (value, siblings) => tests.some((test) => test(value, siblings));
}

function compileList(list: readonly unknown[], path: string): Test {
  if (list.length === 0) throw errorAt(path, 'an empty list matches nothing');
  const tests = list.map((element, index): Test => {
    const where = `${path}[${index}]`;
    if (isObject(element) && 'exists' in element) return compileExists(element, where);
    const test = compileElement(element, where);
    return (value) => leavesOf(value).some(test);
  });
  return (value, siblings) => tests.some((test) => test(value, siblings));
}

/** Of leaves alone, as EventBridge has it: an object in that place does not exist. */
function compileExists(element: Readonly<Record<string, unknown>>, path: string): Test {
  const [name, wanted] = operatorOf(element, path);
  if (name !== 'exists' || typeof wanted !== 'boolean') {
    throw errorAt(path, `exists: expected true or false alone, found ${JSON.stringify(element)}`);
  }
  if (wanted) return (value) => leavesOf(value).length > 0;
  return (_, siblings) => siblings.every((value) => leavesOf(value).length === 0);
}

function compileElement(element: unknown, path: string): LeafTest {
  if (element === null || typeof element !== 'object') return (value) => value === element;
  if (!isObject(element)) throw errorAt(path, 'expected a value or an operator, found a list');
  const [name, argument] = operatorOf(element, path);
  const compile = OPERATORS[name];
  if (compile === undefined) {
    const known = [...Object.keys(OPERATORS), 'exists'].join(', ');
    throw errorAt(path, `Lambda has no operator ${name} in filters; it has ${known}`);
  }
  return compile(argument, `${path}.${name}`);
}

const OPERATORS: Readonly<Record<string, (argument: unknown, path: string) => LeafTest>> = {
  prefix: (argument, path) => affix(argument, path, (text, part) => text.startsWith(part)),
  suffix: (argument, path) => affix(argument, path, (text, part) => text.endsWith(part)),
  'equals-ignore-case': (argument, path) => {
    const wanted = text(argument, path).toLowerCase();
    return (value) => typeof value === 'string' && value.toLowerCase() === wanted;
  },
  numeric: compileNumeric,
  'anything-but': compileAnythingBut,
};

function affix(argument: unknown, path: string, has: (text: string, part: string) => boolean): LeafTest {
  if (isObject(argument)) {
    const [name, inner] = operatorOf(argument, path);
    if (name !== 'equals-ignore-case') {
      throw errorAt(path, `expected a text or equals-ignore-case, found ${name}`);
    }
    const part = text(inner, path).toLowerCase();
    return (value) => typeof value === 'string' && has(value.toLowerCase(), part);
  }
  const part = text(argument, path);
  return (value) => typeof value === 'string' && has(value, part);
}

const COMPARISONS: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  '=': (value, bound) => value === bound,
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
};

/** `["=", 1]`, `[">", 1]` or a range: `[">", 1, "<=", 5]`. Texts never match, and DynamoDB's numbers are texts. */
function compileNumeric(argument: unknown, path: string): LeafTest {
  const expected = 'expected ["=", n], [">", n] or a range such as [">", n, "<=", m]';
  if (!Array.isArray(argument) || (argument.length !== 2 && argument.length !== 4)) {
    throw errorAt(path, `${expected}, found ${JSON.stringify(argument)}`);
  }
  const tests: ((value: number) => boolean)[] = [];
  const operators: string[] = [];
  for (let index = 0; index < argument.length; index += 2) {
    const [operator, bound] = argument.slice(index, index + 2);
    const compare = COMPARISONS[operator];
    if (compare === undefined || typeof bound !== 'number') {
      throw errorAt(path, `${expected}, found ${JSON.stringify(argument)}`);
    }
    operators.push(operator);
    tests.push((value) => compare(value, bound));
  }
  if (operators.length === 2 && !(/^>/.test(operators[0] ?? '') && /^</.test(operators[1] ?? ''))) {
    throw errorAt(path, `of a range the lower bound comes first, found ${JSON.stringify(argument)}`);
  }
  return (value) => typeof value === 'number' && tests.every((test) => test(value));
}

/** What is there and is none of these: texts or numbers, or what begins or ends so. A field that is not there does not match. */
function compileAnythingBut(argument: unknown, path: string): LeafTest {
  if (isObject(argument)) {
    const [name, inner] = operatorOf(argument, path);
    const compile = name === 'numeric' || name === 'anything-but' ? undefined : OPERATORS[name];
    if (compile === undefined) {
      throw errorAt(path, `expected prefix, suffix or equals-ignore-case, found ${name}`);
    }
    const tests = (Array.isArray(inner) ? inner : [inner]).map((one) => compile(one, `${path}.${name}`));
    if (tests.length === 0) throw errorAt(`${path}.${name}`, 'expected at least one value');
    return (value) => !tests.some((test) => test(value));
  }
  const values: readonly unknown[] = Array.isArray(argument) ? argument : [argument];
  const isOneKind = ['string', 'number'].some((kind) => values.every((value) => typeof value === kind));
  if (values.length === 0 || !isOneKind) {
    throw errorAt(path, `expected texts or numbers, found ${JSON.stringify(argument)}`);
  }
  return (value) => !values.includes(value);
}

function operatorOf(element: Readonly<Record<string, unknown>>, path: string): [string, unknown] {
  const entries = Object.entries(element);
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw errorAt(path, `expected one operator, found ${JSON.stringify(element)}`);
  }
  return entry;
}

function text(value: unknown, path: string): string {
  if (typeof value === 'string') return value;
  throw errorAt(path, `expected a text, found ${JSON.stringify(value)}`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of `key`, of every element where `value` is an array; nothing where there is none. */
function childrenOf(value: unknown, key: string): unknown[] {
  if (Array.isArray(value)) return flat(value).flatMap((element) => childrenOf(element, key));
  return isObject(value) && Object.hasOwn(value, key) ? [value[key]] : [];
}

/** Values that are neither object nor array. Of an array every element counts. */
function leavesOf(value: unknown): unknown[] {
  const values = Array.isArray(value) ? flat(value) : value === undefined ? [] : [value];
  return values.filter((one) => one === null || typeof one !== 'object');
}

/** As deep as arrays go. */
function flat(value: readonly unknown[]): unknown[] {
  return value.flatMap((element) => (Array.isArray(element) ? flat(element) : [element]));
}

/** `path` is where in the pattern: `dynamodb.NewImage.phase.S[0]`. */
function errorAt(path: string, problem: string): FilterPatternError {
  return new FilterPatternError(path === '' ? problem : `${path}: ${problem}`);
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
