import { describe, expect, it } from 'vitest';
import type { Intercept } from '../../cases/scaler/world.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';

const untouched: Intercept = async (_, act) => act();

function bedWith(nodes: number, replicas: number): ScalerBed {
  const bed = new ScalerBed('eks', replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

describe('what auto has come to', () => {
  const auto = (bed: ScalerBed, config: Record<string, string> = { nodegroup: 'games' }) => {
    bed.extra = { provider: 'auto', config };
    return bed;
  };

  it('is not minikube for ever where the first node had no provider id yet', async () => {
    const bed = auto(bedWith(1, 2));
    bed.changeNode('n1', { providerId: '' });
    await bed.tick(untouched);
    expect(bed.world.ledger.detectedProvider).toBe('minikube');
    bed.changeNode('n1', { providerId: 'aws:///eu-west-1a/i-1' });
    await bed.tick(untouched);
    expect(bed.world.ledger.detectedProvider).toBe('eks');
  });

  it('is found anew where the config names another kind of group', async () => {
    const bed = auto(bedWith(1, 1));
    await bed.tick(untouched);
    expect(bed.world.ledger.detectedProvider).toBe('eks');
    auto(bed, { autoScalingGroup: 'games' });
    await bed.tick(untouched);
    expect(bed.world.ledger.detectedProvider).toBe('asg');
  });

  it('is told from one look at the cluster, however many objects ask for it', async () => {
    const bed = bedWith(0, 1);
    let looks = 0;
    bed.world.intercept = async (call, act) => {
      if (call.operation === 'snapshot') looks += 1;
      return act();
    };
    const names = Array.from({ length: 30 }, (_, at) => `pool${at}`);
    const outcomes = await runTick(
      names.map((name, at) => {
        return { name, createdAt: at as EpochMs, spec: { replicas: 1, config: { nodegroup: name } } };
      }),
      {
        cluster: bed.world.cluster,
        portsOf: () => ({ ledger: bed.world.ledgerStore, provider: () => bed.world.provider }),
        times: cronTimes,
        clock: () => bed.now,
        deadline: (bed.now + 1000) as EpochMs,
      },
    );
    expect(new Set(outcomes.map(({ status }) => status.conditions[0]?.reason))).toEqual(new Set(['UnknownProvider']));
    expect(looks).toBe(1);
  });

  it('stays minikube where there is no node to tell by', async () => {
    const bed = auto(bedWith(1, 1));
    bed.changeNode('n1', { providerId: '' });
    await bed.tick(untouched);
    bed.world.nodes.clear();
    const outcome = await bed.tick(untouched);
    expect(outcome?.status.conditions[0]).toMatchObject({ type: 'Valid', status: 'True' });
  });
});
