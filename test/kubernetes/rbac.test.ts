import { describe, expect, it } from 'vitest';
import { manifest } from './manifests.ts';

const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'berth:node-scaler' };

describe('the rights of the node scaler in a cluster', () => {
  it('are these and no others', () => {
    const [role, binding, ...more] = manifest('rbac.yaml');
    expect(more).toEqual([]);
    expect(role).toMatchObject({ kind: 'ClusterRole', metadata: { name: 'berth-node-scaler' } });
    expect(role?.rules).toEqual([
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch', 'delete'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
      { apiGroups: ['agones.dev'], resources: ['gameservers'], verbs: ['get', 'list', 'delete'] },
      { apiGroups: ['stable.agones.dev'], resources: ['gameservernodes'], verbs: ['get', 'list'] },
      { apiGroups: ['stable.agones.dev'], resources: ['gameservernodes/status'], verbs: ['patch'] },
      { apiGroups: [''], resources: ['events'], verbs: ['create'] },
    ]);
    expect(role).not.toHaveProperty('aggregationRule');
    expect(binding).toMatchObject({
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'berth-node-scaler' },
    });
    expect(binding?.subjects).toEqual([group]);
  });

  it('are, where a hook is a Service, to look it up in the namespace that the manifest is applied in', () => {
    const [role, binding, ...more] = manifest('rbac-hook-service.yaml');
    expect(more).toEqual([]);
    expect(role).toMatchObject({ kind: 'Role', metadata: { name: 'berth-node-scaler-hook-service' } });
    expect(role?.rules).toEqual([{ apiGroups: [''], resources: ['services'], verbs: ['get'] }]);
    expect(binding).toMatchObject({
      kind: 'RoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'berth-node-scaler-hook-service' },
    });
    expect(binding?.subjects).toEqual([group]);
    for (const one of [role, binding]) expect(one?.metadata).not.toHaveProperty('namespace');
  });
});
