import { apiVersionOf, type ResourceType } from './resource-type.ts';

function groupPath({ group, version }: Pick<ResourceType, 'group' | 'version'>): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

/** The schemas that `kubectl explain` shows and by which `kubectl apply` knows what the server checks; undefined: none there. */
export function openApiV3(path: string, types: readonly ResourceType[]): object | undefined {
  const groups = [...new Set(types.map(groupPath))];
  if (path === '/openapi/v3') {
    const paths = groups.map((group) => [group, { serverRelativeURL: `/openapi/v3/${group}` }]);
    return { paths: Object.fromEntries(paths) };
  }
  const served = types.filter((type) => path === `/openapi/v3/${groupPath(type)}`);
  if (served.length === 0) return undefined;
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.32.0' },
    paths: Object.fromEntries(served.map((type) => [pathOf(type), { patch: patchOf(type) }])),
    components: { schemas: Object.fromEntries(served.map((type) => [schemaName(type), schemaOf(type)])) },
  };
}

function kindsOf({ group, version, kind }: ResourceType) {
  return { 'x-kubernetes-group-version-kind': { group, version, kind } };
}

function pathOf(type: ResourceType): string {
  return `/${groupPath(type)}/${type.namespaced ? 'namespaces/{namespace}/' : ''}${type.resource}/{name}`;
}

/** From the parameter a client knows that unknown fields are found here, and leaves that to the server. */
function patchOf(type: ResourceType): object {
  return {
    'x-kubernetes-action': 'patch',
    ...kindsOf(type),
    parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string', uniqueItems: true },
    })),
    responses: { 200: { description: 'OK' } },
  };
}

function schemaName(type: ResourceType): string {
  return `${apiVersionOf(type).replaceAll('/', '.')}.${type.kind}`;
}

function schemaOf(type: ResourceType): object {
  return {
    type: 'object',
    ...type.schema,
    'x-kubernetes-group-version-kind': [kindsOf(type)['x-kubernetes-group-version-kind']],
  };
}
