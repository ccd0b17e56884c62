import ts from 'typescript';

/** One place where a source reaches outside its arguments. */
export interface Impurity {
  /** Counted from 1. */
  readonly line: number;
  readonly what: string;
}

/** Globals through which time, chance, environment, network or output come in. */
const FORBIDDEN_GLOBALS = new Set([
  'process',
  'performance',
  'crypto',
  'globalThis',
  'global',
  'console',
  'fetch',
  'navigator',
  'Intl',
  'require',
  'eval',
  'Function',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
]);

/** What may be asked of a global that also gives time or chance: for `Date` a list, for `Math` all but chance. */
const ALLOWED_MEMBERS: Readonly<Record<string, (member: string) => boolean>> = {
  Date: (member) => member === 'UTC' || member === 'parse',
  Math: (member) => member !== 'random',
};

/** Methods whose answer depends on the machine's language or time zone. */
const MACHINE_DEPENDENT = new Set([
  'localeCompare',
  'toLocaleString',
  'toLocaleDateString',
  'toLocaleTimeString',
  'toLocaleUpperCase',
  'toLocaleLowerCase',
  'getTimezoneOffset',
  'getFullYear',
  'getMonth',
  'getDate',
  'getDay',
  'getHours',
  'getMinutes',
]);

/** The system's clock is for those who call the pure parts: they hand in the time that it tells. */
const FORBIDDEN_IMPORTS = new Set(['systemClock']);

/** What pure code may take from node:crypto, which also gives chance. */
const ALLOWED_FROM_CRYPTO = new Set(['createHash']);

/**
 * Every place in `source` that makes a result depend on anything but arguments: clock, chance, environment, network,
 * output, language or time zone of the machine, state kept between calls. `Date` and `Math` are looked at by what is
 * taken from them, so that an alias (`const { now } = Date`) is found too.
 */
export function impuritiesOf(source: string, fileName: string): Impurity[] {
  const file = ts.createSourceFile(fileName, source, ts.ScriptTarget.Latest, true);
  const found: Impurity[] = [];
  const report = (node: ts.Node, what: string) => {
    found.push({ line: file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1, what });
  };

  const visit = (node: ts.Node): void => {
    // Types say nothing about what runs.
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    if (ts.isImportDeclaration(node)) {
      for (const what of impureImports(node)) report(node, what);
      return;
    }
    if (node.kind === ts.SyntaxKind.ImportKeyword && ts.isCallExpression(node.parent)) report(node, 'import()');
    if (ts.isIdentifier(node) && isReference(node)) {
      const what = impureReference(node);
      if (what !== undefined) report(node, what);
    }
    if (ts.isPropertyAccessExpression(node) && MACHINE_DEPENDENT.has(node.name.text)) report(node, node.name.text);
    if (ts.isVariableStatement(node) && node.parent === file && !(node.declarationList.flags & ts.NodeFlags.Const)) {
      report(node, 'module state');
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function impureImports(node: ts.ImportDeclaration): string[] {
  const clause = node.importClause;
  if (clause === undefined) return ['import for its effects'];
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return [];
  const module = ts.isStringLiteral(node.moduleSpecifier) ? node.moduleSpecifier.text : '';
  const ofCrypto = /^(node:)?crypto$/.test(module);
  const bindings = clause.namedBindings;
  if (bindings === undefined || !ts.isNamedImports(bindings)) return ofCrypto ? ['crypto'] : [];
  const names = bindings.elements.filter((one) => !one.isTypeOnly).map((one) => (one.propertyName ?? one.name).text);
  return names.filter((name) => FORBIDDEN_IMPORTS.has(name) || (ofCrypto && !ALLOWED_FROM_CRYPTO.has(name)));
}

/** Whether an identifier stands for a variable, rather than naming a member or what is being declared. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  return !('name' in parent && parent.name === node);
}

function impureReference(node: ts.Identifier): string | undefined {
  const name = node.text;
  if (FORBIDDEN_GLOBALS.has(name)) return name;
  const allowed = ALLOWED_MEMBERS[name];
  if (allowed === undefined) return undefined;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.expression === node) {
    return allowed(parent.name.text) ? undefined : `${name}.${parent.name.text}`;
  }
  if (ts.isNewExpression(parent) && parent.expression === node && name === 'Date') {
    return parent.arguments === undefined || parent.arguments.length === 0 ? 'new Date()' : undefined;
  }
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword) return undefined;
  return name;
}
