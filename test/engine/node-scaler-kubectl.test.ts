import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { Kubectl } from '../support/kubectl.ts';
import { CORDONED, KubectlBed } from './kubectl-bed.ts';

/**
 * The node scaler as people have it before them: they write objects with kubectl, the deployed bundle ticks, and what they
 * look at says what goes on.
 */

const EXAMPLE = fileURLToPath(new URL('../../deploy/kubernetes/example.yaml', import.meta.url));

let bed: KubectlBed;
let kubectl: Kubectl;

beforeAll(async () => {
  bed = await KubectlBed.start();
  ({ kubectl } = bed);
});
afterEach(async () => {
  await kubectl.say('delete', 'gsn', '--all');
  expect(bed.outside.violations).toEqual([]);
});
afterAll(() => bed?.stop());

test('the example is applied, and comes to its target', async () => {
  await bed.addNodegroup('gameserver');
  expect(await kubectl.say('apply', '-f', EXAMPLE)).toBe('gameservernode.stable.agones.dev/game created\n');
  expect((await bed.berth('status')).out).toMatch(/\ngame +- .+ NotSeenYet +-\n/);
  const { status, out } = await bed.berth('check');
  expect(status).toBe(0);
  expect(out).toMatch(/\ngame +eks, group of 2 \(0 to 10\) +3 +2 +0 +0 +0 +ScalingUp +12 at 2026-01-16T15:55:00/);
  expect(out).toContain('\ngame: would order 1 node\n');

  await bed.pass(2);
  expect(await bed.shown('game')).toMatchObject({
    ...{ TARGET: '3', ACTIVE: '2', PENDING: '1', DRAINING: '0', PROVIDER: 'eks', VALID: 'True' },
    ...{ HEALTH: 'AsExpected', HELD: '0', STATE: 'ScalingUp', AGE: '2m' },
  });
  await bed.pass(3);
  expect(await bed.shown('game')).toMatchObject({ ACTIVE: '3', PENDING: '0', STATE: 'AtTarget' });
  expect([...(await bed.nodes('gameserver')).values()]).toEqual(['Ready', 'Ready', 'Ready']);

  const description = await kubectl.say('describe', 'gsn', 'game');
  expect(description).toMatch(/Message: +3 active, 0 pending, 0 draining, target 3\n[\s\S]*?Type: +AtTarget\n/);
  expect(description).toMatch(/Next Transition:\n +At: +2026-01-16T15:55:00[\d.]*Z\n +Target:\n +Replicas: +12\n/);
  expect(description).toMatch(/Normal +NodesOrdered .+ berth-node-scaler +1 more node is ordered\n/);
  // A heading with nothing below it.
  expect(description).not.toContain('Drains:');
  expect((await bed.berth('status')).out).toMatch(
    /\ngame +eks, group of 3 \(0 to 10\) +3 +3 +0 +0 +0 +AtTarget +12 at 2026-01-16T15/,
  );
  expect((await bed.berth('check')).out).toContain('\ngame: would do nothing\n');
});

test('a pool is scaled down, and a node whose game goes on stays until it ends', async () => {
  const name = 'shrinking';
  await bed.startPool(name, { games: 1 });
  await kubectl.say('scale', 'gsn', name, '--replicas', '0');
  expect((await bed.berth('check')).out.match(/would cordon node/g)).toHaveLength(2);
  await bed.pass(2);
  const [played = 'none', ...others] = await bed.cordoned(name);
  expect(others).toEqual([]);
  await bed.pass(10);
  expect(await bed.shown(name)).toMatchObject({ TARGET: '0', ACTIVE: '0', DRAINING: '1', STATE: 'ScalingDown' });
  expect(await kubectl.say('describe', 'gsn', name)).toMatch(new RegExp(`Drains:\n(?:.*\n)*? +Node: +${played}\n`));
  const note = new RegExp(`\n${name}: draining for 11 min: ${played}, 1 game played, 1 game pod\n`);
  expect((await bed.berth('status')).out).toMatch(note);

  bed.endGames(name);
  await bed.pass(3);
  expect(await bed.nodes(name)).toEqual(new Map());
  expect(await bed.shown(name)).toMatchObject({ TARGET: '0', ACTIVE: '0', DRAINING: '0', STATE: 'AtTarget' });
  expect(await bed.reasons(name)).toEqual(new Set(['NodeCordoned', 'MachineEnded', 'NodeRemoved']));
});

test('a node that an operator cordons is held: replaced, never uncordoned or removed, and back once they uncordon it', async () => {
  const name = 'held';
  await bed.startPool(name);
  const [node = 'none'] = (await bed.nodes(name)).keys();
  await kubectl.say('cordon', node);
  await bed.pass(4);
  expect(await bed.shown(name)).toMatchObject({
    TARGET: '2',
    ACTIVE: '2',
    HELD: '1',
    DRAINING: '0',
    STATE: 'AtTarget',
  });
  expect((await bed.berth('status')).out).toMatch(/\nheld +eks, group of 3 \(0 to 10\) +2 +2 +0 +0 +1 +AtTarget/);

  await kubectl.say('scale', 'gsn', name, '--replicas', '0');
  await bed.pass(6);
  expect(await bed.nodes(name)).toEqual(new Map([[node, CORDONED]]));
  expect(await kubectl.say('get', 'node', node, '-o', 'yaml')).not.toContain(MARKS.cordonedBy);
  await kubectl.say('scale', 'gsn', name, '--replicas', '1');
  await kubectl.say('uncordon', node);
  await bed.pass(1);
  expect(await bed.nodes(name)).toEqual(new Map([[node, 'Ready']]));
  expect(await bed.shown(name)).toMatchObject({ TARGET: '1', ACTIVE: '1', PENDING: '0', HELD: '0', STATE: 'AtTarget' });
});

/** A pool that has just been told to have no nodes: two are cordoned, and a game is played on one of them. */
async function startDrain(name: string, spec: object = {}): Promise<void> {
  await bed.startPool(name, { games: 1, spec });
  await kubectl.say('scale', 'gsn', name, '--replicas', '0');
  await bed.pass(1);
  expect(await bed.cordoned(name)).toHaveLength(2);
}

describe('kubectl edit', () => {
  const evening = {
    name: 'evening',
    timezone: 'Europe/Berlin',
    cron: '0 17 * * FRI',
    durationMinutes: 60,
    replicas: 1,
  };
  const edit = async (name: string, script: string) => {
    expect(await kubectl.edit('gsn', name, script)).toMatchObject({ code: 0, stderr: '' });
  };

  test('that makes an object wrong brings its drains to a stop and says what and where; mended, it goes on', async () => {
    const name = 'edited';
    await startDrain(name, { schedules: [evening] });
    bed.endGames(name);
    const asked = bed.outside.requests.length;
    const wrong = [
      {
        script: 's/cron: .*/cron: 0 0 17 * * FRI/',
        back: 's/cron: .*/cron: 0 17 * * FRI/',
        reason: 'InvalidSpec',
        message: 'spec.schedules[0].cron: expected five fields (minute, hour, day of month, month, day of week), got 6',
      },
      {
        script: 's/Europe.Berlin/Europe\\/Atlantis/',
        back: 's/Atlantis/Berlin/',
        reason: 'InvalidSpec',
        message: 'spec.schedules[0].timezone: expected an IANA time zone such as Europe/Berlin, got "Europe/Atlantis"',
      },
      {
        script: 's/provider: eks/provider: asg/',
        back: 's/provider: asg/provider: eks/',
        reason: 'InvalidConfig',
        message: 'spec.config.nodegroup: is not for provider asg: take it out, or change provider',
      },
      {
        script: 's/nodegroup: edited/nodegroup: elsewhere/',
        back: 's/nodegroup: elsewhere/nodegroup: edited/',
        reason: 'InvalidConfig',
        message: 'spec.config.nodegroup: cluster local has no node group elsewhere: mend the name, or make it',
      },
    ];
    let mend = '';
    for (const { script, back, reason, message } of wrong) {
      await edit(name, `${mend}${script}`);
      mend = `${back}; `;
      await bed.pass(1);
      expect(await bed.shown(name)).toMatchObject({ TARGET: '', VALID: 'False', HEALTH: reason, STATE: reason });
      const description = (await kubectl.say('describe', 'gsn', name)).replace(/\s+/g, ' ');
      expect(description).toMatch(new RegExp(` Reason: ${reason} Status: False Type: Valid `));
      // In the condition, and in the event.
      expect(description.split(message)).toHaveLength(3);
      expect(description).toContain(`Warning ${reason} `);
      for (const command of ['status', 'check']) {
        const { status, out } = await bed.berth(command);
        expect({ command, status }).toEqual({ command, status: 3 });
        expect(out).toContain(`\n${name}: ${reason}: `);
        expect(out).toContain(message);
      }
    }
    expect(bed.changes(asked)).toEqual([]);
    expect(await bed.cordoned(name)).toHaveLength(2);

    await edit(name, mend);
    await bed.pass(1);
    expect(await bed.reasons(name)).toContain('Accepted');
    await bed.pass(2);
    expect(await bed.nodes(name)).toEqual(new Map());
    expect(bed.changes(asked)).toContainEqual(expect.stringMatching(/^delete nodes /));
    expect((await bed.berth('status')).status).toBe(0);
  });

  test('that breaks the schema is refused by the API server, which names the field', async () => {
    const name = 'refused';
    await bed.startPool(name);
    const { code, stderr } = await kubectl.edit('gsn', name, 's/provider: eks/provider: gke/');
    expect(code).toBe(1);
    // What the editor is opened with once more.
    const [, copy = ''] = /stored to "(.+)"/.exec(stderr) ?? [];
    expect(readFileSync(copy, 'utf8')).toMatch(/^# \* spec\.provider: Unsupported value: "gke": supported values: /m);
    const patch = ['patch', 'gsn', name, '--type', 'merge', '--patch', '{"spec":{"replicas":-1}}'];
    expect(await kubectl.refusal(...patch)).toContain('spec.replicas: Invalid value: -1: ');
    await bed.pass(1);
    expect(await bed.shown(name)).toMatchObject({ TARGET: '2', ACTIVE: '2', VALID: 'True' });
  });
});

test('an object that is deleted during a drain leaves nodes cordoned, and made again it goes on from there', async () => {
  const name = 'deleted';
  await startDrain(name);
  await kubectl.say('delete', 'gsn', name);
  const asked = bed.outside.requests.length;
  await bed.pass(5);
  expect(await bed.cordoned(name)).toHaveLength(2);
  expect(bed.changes(asked)).toEqual([]);

  await bed.apply(name, { replicas: 1 });
  await bed.pass(1);
  // The one with the game is brought back.
  expect(await bed.reasons(name)).toContain('NodeUncordoned');
  await bed.pass(2);
  expect([...(await bed.nodes(name)).values()]).toEqual(['Ready']);
  expect(await bed.shown(name)).toMatchObject({ TARGET: '1', ACTIVE: '1', DRAINING: '0', STATE: 'AtTarget' });
  expect(bed.outside.killedSessions).toEqual([]);
});

test('of two objects for one pool the older is acted on, and the newer says so until it is the only one', async () => {
  const name = 'shared';
  await bed.startPool(name);
  await bed.apply('newer', { replicas: 0, config: { nodegroup: name } });
  await bed.pass(2);
  expect(await bed.shown(name)).toMatchObject({ TARGET: '2', ACTIVE: '2', VALID: 'True', STATE: 'AtTarget' });
  expect(await bed.shown('newer')).toMatchObject({
    ...{ TARGET: '', VALID: 'False', HEALTH: 'ConflictingGameServerNode' },
  });
  const message =
    'the older object shared selects the same pool (nodegroup shared): delete one, or select another pool';
  expect(await kubectl.say('describe', 'gsn', 'newer')).toMatch(
    new RegExp(`Warning +ConflictingGameServerNode .*${message.replace(/[()]/g, '\\$&')}`),
  );
  for (const command of ['status', 'check']) {
    const { status, out } = await bed.berth(command);
    expect(status).toBe(3);
    expect(out).toContain(`\nnewer: ConflictingGameServerNode: spec.config: ${message}\n`);
  }
  await kubectl.say('delete', 'gsn', name);
  await bed.pass(4);
  expect(await bed.shown('newer')).toMatchObject({ TARGET: '0', ACTIVE: '0', VALID: 'True', STATE: 'AtTarget' });
  expect(await bed.nodes(name)).toEqual(new Map());
});
