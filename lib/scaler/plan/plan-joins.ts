import { listed } from '../../listed.ts';
import { SCALER } from '../../settings.ts';
import { isAhead } from '../clock-skew.ts';
import type { UnjoinedMachine } from '../observation.ts';
import { lifeOf } from '../pool/classes.ts';
import { instanceOf } from '../pool/membership.ts';
import type { Scene } from '../pool/scene.ts';
import type { Finding } from './findings.ts';

/** What there is to say of machines that have not joined, and what is to be remembered of them. */
interface Joins {
  readonly findings: readonly Finding[];
  /** Undefined: what is remembered is right, and nothing is to be written. */
  readonly remember?: readonly UnjoinedMachine[];
}

/**
 * Machines of the group that live and have no node. They count as pending for as long as that lasts, so that none is ordered
 * twice; a pool that one of them never joins would be a node short without a word.
 */
export function planJoins(scene: Scene): Joins {
  const before = scene.ledger.unjoined ?? [];
  const unjoined = unjoinedIn(scene, before);
  const late = unjoined.filter(({ since }) => scene.now - since >= SCALER.joinSeconds * 1000);
  const findings = late.length === 0 ? [] : [notJoining(late)];
  return isSame(before, unjoined) ? { findings } : { findings, remember: unjoined };
}

/** Those that are remembered first, then by id: of many the same are followed from tick to tick. */
function unjoinedIn(
  { group, snapshot, ledger, now }: Scene,
  before: readonly UnjoinedMachine[],
): readonly UnjoinedMachine[] {
  const known = new Map(before.map(({ instance, since }) => [instance, isAhead(since, now) ? now : since]));
  const joined = new Set(snapshot.nodes.map(instanceOf));
  // Its node was deleted on purpose: it is being ended.
  const ending = new Set(ledger.pendingDeletions.map(({ instance }) => instance));
  return [...(group?.instances ?? [])]
    .filter(([instance, state]) => lifeOf(state) === 'live' && !joined.has(instance) && !ending.has(instance))
    .map(([instance]): UnjoinedMachine => ({ instance, since: known.get(instance) ?? now }))
    .sort((a, b) => a.since - b.since || (a.instance < b.instance ? -1 : 1))
    .slice(0, SCALER.unjoinedRemembered);
}

function isSame(a: readonly UnjoinedMachine[], b: readonly UnjoinedMachine[]): boolean {
  const times = new Map(a.map(({ instance, since }) => [instance, since]));
  return a.length === b.length && b.every(({ instance, since }) => times.get(instance) === since);
}

function notJoining(late: readonly UnjoinedMachine[]): Finding {
  const instances = late.map(({ instance }) => instance);
  const machines = listed(instances, SCALER.namesInMessage);
  const [one = ''] = instances;
  const message = `machines of the group run for ${SCALER.joinSeconds / 60} minutes and more, and none has joined the cluster as a node: ${machines}. They count as pending, so none is ordered in their place. Look at what they say when they start (\`aws ec2 get-console-output --latest --instance-id ${one}\`) and whether the cluster lets their role in (access entry or aws-auth), then end them, and the group replaces them (\`aws autoscaling terminate-instance-in-auto-scaling-group --no-should-decrement-desired-capacity --instance-id ${one}\`)`;
  return { reason: 'NodesNotJoining', message };
}
