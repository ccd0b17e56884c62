import type { AnyCase } from '../../cases/case-file.ts';
import { judged } from '../../cases/judge.ts';
import type { Way } from '../../cases/outcome.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import type { EpochMs } from '../../lib/time.ts';

export const NOW = Date.UTC(2026, 0, 1) as EpochMs;
/** The service and the node of each task. */
export const place = { serviceId: 'svc', nodeId: 'n1' };
const ports = [{ ip: 'a', value: 80 }];

/** On n1 the task `old` makes room for `new`, n2 refuses, and `gone` is not there any more. */
export const CONTENT = {
  id: 'X',
  kind: 'plan',
  nodes: [
    { nodeId: 'n1', capacity: { cpu: 4 }, cores: [0] },
    { nodeId: 'n2', capacity: { cpu: 1 } },
  ],
  tasks: [
    { taskId: 'old', slot: 1, ...place, resources: { cpu: 4 }, ports, volumes: [{ source: 'v', mode: 'reader-only' }] },
    { taskId: 'idle', slot: 5, ...place, cores: [0] },
  ],
  plans: [
    {
      planId: 'p1',
      pool: 'test',
      placements: [
        { taskId: 'new', slot: 2, ...place, resources: { cpu: 3 }, ports },
        { taskId: 'big', slot: 3, ...place, nodeId: 'n2', resources: { cpu: 2 } },
      ],
      stops: [{ taskId: 'old', slot: 1, ...place }],
      preemptions: [{ taskId: 'gone', slot: 4, ...place }],
    },
  ],
  expect: {
    perPlan: [
      {
        planId: 'p1',
        status: 'partial',
        rejectedNodes: [{ nodeId: 'n2', code: 'cpu' }],
        committed: { placements: ['new'], stops: ['old'], preemptions: [] },
        refresh: true,
        ineligibleNodes: [],
        alreadyGone: ['gone'],
      },
    ],
  },
};

export type Content = Record<string, unknown>;

/** What `way` finds wrong with a case of that content. */
export async function problemsOf(content: Content, way: Way = PURE_WAY, kind: string | undefined = 'plan') {
  const one: AnyCase = { id: 'X', kind, content };
  const verdicts: string[] = [];
  for await (const { problems } of judged(one, 3, [way], NOW)) verdicts.push(...problems);
  return verdicts;
}
