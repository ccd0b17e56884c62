import { apiVersionOf, type ResourceType } from './resource-type.ts';

/** Which release the server says it is: the one whose words and ways it has. */
const VERSION = {
  major: '1',
  minor: '32',
  gitVersion: 'v1.32.0-berth',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: 'linux/amd64',
};

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** What a server says about itself at paths that lead to no resource; undefined: nothing is there. */
export function discover(path: string, types: readonly ResourceType[]): object | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  const [root, group, version] = parts;
  if (path === '/version') return VERSION;
  if (root === 'api' && parts.length === 1) return { kind: 'APIVersions', versions: ['v1'] };
  if (root === 'api' && parts.length === 2) return resourceList('', group as string, types);
  if (root !== 'apis') return undefined;
  const groups = [...new Set(types.map((type) => type.group))].filter((name) => name !== '');
  const described = groups.map((name) => groupOf(name, types));
  if (group === undefined) return { kind: 'APIGroupList', apiVersion: 'v1', groups: described };
  if (version !== undefined) return resourceList(group, version, types);
  const found = described.find(({ name }) => name === group);
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...found };
}

function groupOf(name: string, types: readonly ResourceType[]) {
  const versions = [...new Set(types.filter(({ group }) => group === name).map(({ version }) => version))].map(
    (version) => ({ groupVersion: `${name}/${version}`, version }),
  );
  return { name, versions, preferredVersion: versions[0] };
}

function resourceList(group: string, version: string, types: readonly ResourceType[]): object | undefined {
  const served = types.filter((type) => type.group === group && type.version === version);
  if (served.length === 0) return undefined;
  const groupVersion = apiVersionOf({ group, version });
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: served.flatMap(resourcesOf) };
}

function resourcesOf({ resource, singular, kind, shortNames, namespaced, status, scale }: ResourceType): object[] {
  const sub = (name: string, more: object) => ({
    name: `${resource}/${name}`,
    singularName: '',
    namespaced,
    verbs: ['get', 'patch', 'update'],
    ...more,
  });
  return [
    { name: resource, singularName: singular, namespaced, kind, verbs: VERBS, shortNames },
    ...(status ? [sub('status', { kind })] : []),
    ...(scale ? [sub('scale', { group: 'autoscaling', version: 'v1', kind: 'Scale' })] : []),
  ];
}
