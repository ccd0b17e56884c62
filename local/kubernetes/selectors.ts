import { badRequest } from './api-error.ts';
import { valuesAt } from './json-path.ts';
import type { KubeObject } from './kube-object.ts';
import type { ResourceType } from './resource-type.ts';

export type Selector = (object: KubeObject) => boolean;

const REQUIREMENT =
  /^\s*(?:(!?)([^\s!=,()]+)|([^\s!=,()]+)\s*(==|=|!=)\s*([^\s,()]*)|([^\s!=,()]+)\s+(in|notin)\s*\(([^()]*)\))\s*$/;

/** Commas that are not within parentheses. */
const COMMA = /,(?![^(]*\))/;

/** `a=b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, with commas between. */
export function labelSelector(text: string | undefined): Selector {
  if (text === undefined || text.trim() === '') return () => true;
  const tests = text.split(COMMA).map(requirementOf);
  return ({ metadata }) => tests.every((holds) => holds(metadata.labels ?? {}));
}

function requirementOf(text: string): (labels: Readonly<Record<string, string>>) => boolean {
  const match = REQUIREMENT.exec(text);
  if (!match) throw badRequest(`unable to parse requirement: found '${text.trim()}', expected: a label's requirement`);
  const [, not, only, key = '', operator, value, setKey = '', setOperator, set] = match;
  if (only !== undefined) return (labels) => Object.hasOwn(labels, only) === (not === '');
  if (operator !== undefined) return (labels) => (labels[key] === value) === (operator !== '!=');
  const values = new Set(set?.split(',').map((item) => item.trim()));
  // notin holds for what has no such label at all.
  return (labels) => (Object.hasOwn(labels, setKey) && values.has(labels[setKey] as string)) === (setOperator === 'in');
}

const ANY = ['metadata.name', 'metadata.namespace'];

/** The fields that the API server selects by; a custom resource has name and namespace alone. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  namespaces: ['status.phase'],
  nodes: ['spec.unschedulable'],
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'status.phase',
    'status.podIP',
  ],
  events: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (field) => `involvedObject.${field}`,
    ),
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
};

/** `spec.nodeName=a,status.phase!=Failed`. */
export function fieldSelector(text: string | undefined, type: ResourceType): Selector {
  if (text === undefined || text.trim() === '') return () => true;
  const tests = text.split(',').map((term) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(term.trim());
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator, value] = match;
    if (![...ANY, ...(FIELDS[type.resource] ?? [])].includes(field)) {
      throw badRequest(`field label not supported: ${field}`);
    }
    return (object: KubeObject) => (fieldOf(object, field) === value) === (operator !== '!=');
  });
  return (object) => tests.every((holds) => holds(object));
}

function fieldOf(object: KubeObject, field: string): string {
  const path = field === 'source' ? 'source.component' : field;
  return String(valuesAt(object, `.${path}`)[0] ?? (field === 'spec.unschedulable' ? false : ''));
}
