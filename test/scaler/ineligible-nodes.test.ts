import { describe, expect, it } from 'vitest';
import { another, pass, registered } from './registered-bed.ts';

describe('nodes that Berth made ineligible', () => {
  it('are the first to go, whatever is on them', async () => {
    const { bed, registry } = await registered(3, 2);
    bed.addServer('n3', 'Allocated');
    registry.change('eu', 'n3', { ineligible: true });
    await bed.tick();
    expect(bed.takeLog().cordoned).toEqual(['n3']);
  });

  it('are replaced within the maximum', async () => {
    const { bed, registry } = await registered(3, 3, { replaceIneligible: 'true' });
    if (bed.world.group) bed.world.group = { ...bed.world.group, max: 4 };
    for (const name of ['n1', 'n2']) registry.change('eu', name, { ineligible: true });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, cordoned: [] });
    bed.addNode({ grow: false });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 0, cordoned: ['n1'], violations: [] });
    pass(bed);
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ nodesDeleted: ['n1'], violations: [] });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, cordoned: [] });
  });

  it('are none for what another machine of that name was', async () => {
    const { bed, registry } = await registered(2, 1);
    registry.change('eu', 'n2', { ineligible: true });
    const { group } = bed.world;
    if (group) {
      bed.world.group = {
        ...group,
        instances: new Map([
          ['i-1', 'InService'],
          ['i-9', 'InService'],
        ]),
      };
    }
    bed.changeNode('n2', another('n2', { providerId: 'aws:///eu-west-1a/i-9' }));
    await bed.tick();
    expect(bed.takeLog().cordoned).toEqual(['n1']);
  });
});
