import { clockTime, whole } from '../numbers.ts';
import type { ScalerFacts } from './facts.ts';
import type { Incident } from './incidents.ts';
import { timeOf } from './scene.ts';

export type OutcomeFacts = Pick<
  ScalerFacts,
  'scene' | 'samples' | 'ticks' | 'deeds' | 'gone' | 'races' | 'heldNode' | 'twin' | 'incidents'
>;

/** What came of an incident, in a sentence; it begins with BROKEN where that is not what has to come of it. */
export function outcomeOf(incident: Incident, facts: OutcomeFacts): string {
  switch (incident.kind) {
    case 'kill':
      return killed(incident, facts);
    case 'shortage':
      return shortage(incident, facts);
    case 'cordon':
      return replaced(incident, facts);
    case 'loss':
      return lost(facts);
    case 'blind':
      return blind(facts);
    case 'twin':
      return twin(facts);
    case 'race':
      return race(incident, facts);
    case 'rescale':
      return rescaled(incident, facts);
  }
}

function killed({ minute }: Incident, { scene, ticks, deeds }: OutcomeFacts): string {
  const at = timeOf(scene, minute);
  const orders = deeds.filter((deed) => deed.kind === 'order' && deed.at >= at && deed.at < timeOf(scene, minute + 10));
  const next = ticks.find((tick) => tick.at > at && tick.kubernetes > 0)?.at;
  if (orders.length !== 1 || next === undefined) return `BROKEN: ${orders.length} orders, where one was due`;
  return `goes on at ${text(scene, next)}, once the lease has run out; nothing is ordered again`;
}

function shortage({ minute }: Incident, facts: OutcomeFacts): string {
  const { scene, samples, incidents } = facts;
  const last = incidents.findLast(({ kind }) => kind === 'shortage')?.minute;
  if (minute === last) return reached(minute, facts);
  const told = samples.filter(({ degraded }) => degraded === 'CapacityShortage');
  const [first, until] = [told[0]?.at, told.at(-1)?.at];
  if (first === undefined || until === undefined) return 'BROKEN: no status told of it';
  return `the status says CapacityShortage from ${text(scene, first)} to ${text(scene, until)}; the order stands`;
}

function reached(minute: number, { scene, samples }: OutcomeFacts): string {
  const at = samples.find((one) => one.at >= timeOf(scene, minute) && one.nodes.active >= one.target)?.at;
  return at === undefined ? 'BROKEN: the pool never came to its target' : `all nodes are active at ${text(scene, at)}`;
}

/** Minutes that a machine takes to be ordered and to come up, with room. */
const REPLACED_WITHIN = 10;

function replaced({ minute }: Incident, { scene, samples, deeds }: OutcomeFacts): string {
  const [at, until] = [timeOf(scene, minute), timeOf(scene, minute + REPLACED_WITHIN)];
  const order = deeds.find((deed) => deed.kind === 'order' && deed.at >= at && deed.at <= until);
  const full = samples.some((one) => one.at > at && one.at <= until && one.nodes.active >= one.target);
  if (!full) return `BROKEN: the pool lacks a node, and has none in its place ${REPLACED_WITHIN} minutes later`;
  const how = order === undefined ? 'there are enough without it' : `another is ordered at ${text(scene, order.at)}`;
  return `${how}; this one is left alone`;
}

function lost({ scene, gone, samples }: OutcomeFacts): string {
  const failed = gone.find(({ by }) => by === 'failure');
  if (failed === undefined) return 'BROKEN: its node is still there';
  const back = samples.find(({ at, nodes, target }) => at >= failed.removedAt && nodes.active >= target)?.at;
  if (back === undefined) return 'BROKEN: it was not replaced';
  return `its group replaces it: all nodes are active at ${text(scene, back)}`;
}

function blind({ ticks }: OutcomeFacts): string {
  const blinded = ticks.filter(({ events }) => events === 'blind');
  const changes = blinded.flatMap((tick) => tick.changes).length;
  const what = `${whole(blinded.length)} ticks change ${changes === 0 ? 'nothing' : `${whole(changes)} things`}`;
  return changes === 0 ? `${what}, and the status says ObservationFailed` : `BROKEN: ${what}`;
}

function twin({ twin: outcome, ticks }: OutcomeFacts): string {
  const changes = ticks.find(({ events }) => events === 'twin')?.changes ?? [];
  const again = changes.length - new Set(changes).size;
  if (again > 0) return `BROKEN: ${again} changes were made twice`;
  if (outcome !== 'done' && outcome !== 'past') return `BROKEN: the second came to ${outcome}`;
  return `one of them runs, the other is told that it is past; ${whole(changes.length)} changes, none twice`;
}

function race({ text: told }: Incident, { races }: OutcomeFacts): string {
  const of = races.find(({ server }) => told.includes(`${server} `));
  return of?.kept ? 'the delete is refused, and they play on' : 'BROKEN: they lost it';
}

function rescaled({ minute }: Incident, { scene, deeds }: OutcomeFacts): string {
  const at = timeOf(scene, minute);
  const of = deeds.filter((deed) => deed.at === at);
  const count = (kind: string) => of.filter((deed) => deed.kind === kind).length;
  const parts = [
    [count('uncordon'), 'brought back from draining'],
    [of.reduce((sum, deed) => sum + (deed.kind === 'order' ? deed.by : 0), 0), 'ordered'],
    [count('cordon'), 'cordoned'],
  ] as const;
  const said = parts.flatMap(([number, what]) => (number === 0 ? [] : [`${whole(number)} ${what}`]));
  return said.length === 0 ? 'nothing has to change' : said.join(', ');
}

function text({ timezone }: OutcomeFacts['scene'], at: number): string {
  return clockTime(at, timezone);
}
