import { expect, it } from 'vitest';
import { accountWith, placementOf } from '../../test/support/builders.ts';
import { placing } from '../../test/support/deciding.ts';
import { delivered } from '../../test/support/folding.ts';
import { itemBytes } from '../../test/support/item-size.ts';
import { poolOf } from '../../test/support/plans.ts';
import { runPlan, stageOf } from '../../test/support/stages.ts';
import { sha256 } from '../hash.ts';
import { PLATFORM } from '../settings.ts';
import { marshall } from '../store/dynamo.ts';
import { progressItem, resultItem } from '../store/records.ts';
import { checkPlan } from './check-plan.ts';

/** An id of 128 characters that no compression makes shorter than what they say. */
const longest = (name: string) =>
  `n${[0, 1, 2].map((part) => sha256(`${name} ${part}`).toString('base64url')).join('')}`.slice(0, 128);
const PORT = { ip: '10.0.0.1', value: 80 };
const nodes = (count: number) => Array.from({ length: count }, (_, at) => longest(`node ${at}`));
const planOn = (names: readonly string[]) => ({
  placements: names.map((nodeId, slot) => placing(`t${slot}`, { slot, nodeId, ports: [PORT] })),
});
const checked = (plan: object) => checkPlan({ planId: 'p1', pool: 'prod', ...plan });

it('stands in an item: as many of the longest ids as a plan may name, each refused with the longest of messages', () => {
  const names = nodes(2_600);
  const account = (nodeId: string) =>
    accountWith({ nodeId, capacity: {} }, [placementOf(longest(`holder of ${nodeId}`), { nodeId, ports: [PORT] })]);
  const on = stageOf(poolOf('prod'), { accounts: new Map(names.map(account).map((each) => [each.nodeId, each])) });
  const result = runPlan(delivered('p1', planOn(names)), on);
  expect(result).toMatchObject({ status: 'rejected', rejectedNodes: { length: names.length } });
  expect(result.rejectedNodes[0]).toMatchObject({
    code: 'port-collision',
    message: expect.stringMatching(/held by task n/),
  });
  expect(result.rejectedNodes.at(-1)).toMatchObject({
    code: 'port-collision',
    message: expect.stringMatching(/the code says why/),
  });
  const bytes = (item: object) => itemBytes(marshall(item));
  expect(bytes(resultItem({ result, fingerprint: 'f', over: 0 } as never))).toBeLessThan(PLATFORM.itemBytes);
  for (const { progress } of on.commits.slice(-2)) {
    if (progress) expect(bytes(progressItem(progress))).toBeLessThan(PLATFORM.itemBytes);
  }
});

it('is told beforehand of a plan that names more than it has room for', () => {
  const problem = { problems: [{ path: '', message: expect.stringMatching(/split the plan by node/) }] };
  expect(checked(planOn(nodes(3_000)))).toMatchObject(problem);
  const stops = nodes(3_000).map((taskId, slot) => ({ taskId, serviceId: 'web', slot, nodeId: 'n1' }));
  expect(checked({ stops })).toMatchObject(problem);
});

it('has room for what a message holds of ids as they are usual', () => {
  const hex = (at: number) => sha256(String(at)).toString('hex').slice(0, 36);
  expect(checked(planOn(Array.from({ length: 11_000 }, (_, at) => hex(at))))).toHaveProperty('plan');
});
