import { A, B, type BlindCase, holding, pass, release, take, withdrawing } from './blind-case.ts';

/** Claims of what a node lists: its cores and devices. */
export const LISTED_CASES: readonly BlindCase[] = (['core/1', 'device/d/0'] as const).flatMap((key): BlindCase[] => {
  const node = { cores: [1], devices: [{ id: 'd/0' }] };
  return [
    { name: `takes a free ${key}`, node, change: { claims: { [key]: take } }, after: { claims: { [key]: A } } },
    {
      name: `is refused a held ${key}`,
      node,
      holds: holding({ [key]: B }),
      change: { claims: { [key]: take } },
      after: 'refused',
    },
    { name: `is refused a ${key} that the node does not list`, change: { claims: { [key]: take } }, after: 'refused' },
    {
      name: `is refused a ${key} that is withdrawn`,
      node,
      holds: withdrawing(key),
      change: { claims: { [key]: take } },
      after: 'refused',
    },
    {
      name: `gives a ${key} back`,
      node,
      holds: holding({ [key]: A }),
      change: { claims: { [key]: release } },
      after: { claims: { [key]: '!free' } },
    },
    {
      name: `is refused to give back the ${key} of another`,
      node,
      holds: holding({ [key]: B }),
      change: { claims: { [key]: release } },
      after: 'refused',
    },
    {
      name: `is refused to give back a ${key} that is free`,
      node,
      change: { claims: { [key]: release } },
      after: 'refused',
    },
    {
      name: `passes a ${key} on`,
      node,
      holds: holding({ [key]: B }),
      change: { claims: { [key]: pass } },
      after: { claims: { [key]: A } },
    },
    {
      name: `is refused to pass on a ${key} that another holds`,
      node,
      holds: holding({ [key]: 'c' }),
      change: { claims: { [key]: pass } },
      after: 'refused',
    },
    {
      name: `is refused to pass on a ${key} that is free`,
      node,
      change: { claims: { [key]: pass } },
      after: 'refused',
    },
    {
      name: `is refused to pass on a ${key} that is withdrawn`,
      node,
      holds: (account) => withdrawing(key)(holding({ [key]: B })(account)),
      change: { claims: { [key]: pass } },
      after: 'refused',
    },
  ];
});
