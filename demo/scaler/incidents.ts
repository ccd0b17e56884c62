import { setImmediate } from 'node:timers/promises';
import { nodeText } from '../numbers.ts';
import type { Random } from '../workload/random.ts';
import { gamesOn, isCordoned } from './census.ts';
import type { Games } from './games.ts';
import { GROUP, OBJECT, type Scene, timeOf } from './scene.ts';
import type { Stage } from './stage.ts';

/** Something that went otherwise than it should. */
export interface Incident {
  readonly minute: number;
  readonly kind: 'kill' | 'shortage' | 'cordon' | 'loss' | 'blind' | 'twin' | 'race' | 'rescale';
  readonly text: string;
}

export interface IncidentsSettings {
  readonly stage: Stage;
  readonly scene: Scene;
  readonly games: Games;
  readonly random: Random;
}

const SCALER = 'NodeScaler';
const SHORTAGE =
  'We currently do not have sufficient c6i.xlarge capacity in the Availability Zone you requested (us-east-1a).';

/** Brings about the incidents of a scene, each at its minute. */
export class Incidents {
  readonly #settings: IncidentsSettings;
  readonly #told: Incident[] = [];
  readonly #endings: (() => void)[] = [];
  #deletes = 0;
  #killed = false;
  /** The node that the operator has cordoned. */
  heldNode: string | undefined;
  /** Servers that players got just before they were to be deleted. */
  readonly raced: string[] = [];

  constructor(settings: IncidentsSettings) {
    this.#settings = settings;
  }

  get told(): readonly Incident[] {
    return this.#told;
  }

  /** What becomes of the tick of this minute. */
  eventsOf(minute: number): 'none' | 'blind' | 'twin' | 'killed' {
    const { blind, twin } = this.#settings.scene.incidents;
    if (this.#killed) return 'killed';
    if (minute >= blind[0] && minute < blind[1]) return 'blind';
    return minute === twin ? 'twin' : 'none';
  }

  /** Before the tick of a minute. */
  async before(minute: number): Promise<void> {
    this.#killed = false;
    const { scene } = this.#settings;
    const { kill, shortage, cordon, loss, blind, twin, rescale } = scene.incidents;
    if (minute === kill) this.#armKill();
    if (minute === shortage[0]) this.#beginShortage(minute);
    if (minute === shortage[1]) this.#endShortage(minute);
    if (minute === cordon) await this.#cordon(minute);
    if (minute === loss) this.#lose(minute);
    if (minute === blind[0]) this.#beginBlindness(minute);
    if (minute === blind[1]) for (const end of this.#endings.splice(0)) end();
    if (minute === rescale[0]) await this.#rescale(minute, rescale[2]);
    if (minute === rescale[1]) await this.#rescale(minute, scene.replicas);
    if (minute === twin) this.#tell(minute, 'twin', 'the tick is delivered twice at once');
  }

  /** Whether players get that server, which is about to be deleted. */
  race(server: string): boolean {
    const { scene, games, stage, random } = this.#settings;
    const now = stage.clock.now();
    const state = stage.outside.cluster().store.get('gameservers', server, 'default')?.status?.state;
    if (now < timeOf(scene, scene.window.closes) || state !== 'Ready') return false;
    this.#deletes += 1;
    if (!scene.incidents.races.includes(this.#deletes)) return false;
    const got = games.take(server, { at: now, minutes: random.integer(8, 25) });
    if (!got) return false;
    this.raced.push(server);
    const minute = (now - scene.from) / 60_000;
    this.#tell(minute, 'race', `players get ${server} just before the delete of it arrives`);
    return true;
  }

  /** At the worst moment: what was ordered is ordered, and nobody has written down that it was. */
  #armKill(): void {
    const { outside, engine, clock } = this.#settings.stage;
    const act = async () => {
      this.#killed = true;
      const minute = (clock.now() - this.#settings.scene.from) / 60_000;
      this.#tell(
        minute,
        'kill',
        'the function is killed just after its order has taken effect, before it gets the answer',
      );
      await engine.functions.get(SCALER)?.killAll();
      await setImmediate();
    };
    outside.faults.add({ operation: 'SetDesiredCapacity', fault: { kind: 'meanwhile', after: true, act } });
  }

  #beginShortage(minute: number): void {
    const group = this.#group();
    group.shortage = SHORTAGE;
    this.#tell(minute, 'shortage', 'AWS has no machines of the type for some minutes');
  }

  #endShortage(minute: number): void {
    const group = this.#group();
    group.shortage = undefined;
    this.#settings.stage.outside.groups.converge(group);
    this.#tell(minute, 'shortage', 'there are machines again');
  }

  async #cordon(minute: number): Promise<void> {
    const { operator } = this.#settings.stage;
    const name = this.#nodesByGames().at(-1);
    if (name === undefined) throw new Error('there is no node for the operator to cordon');
    await operator.request({
      method: 'PATCH',
      path: ['api', 'v1', 'nodes', name],
      body: { spec: { unschedulable: true } },
      contentType: 'application/merge-patch+json',
    });
    this.heldNode = name;
    this.#tell(minute, 'cordon', `an operator cordons ${nodeText(name)} by hand`);
  }

  /** What `kubectl scale` sends. */
  async #rescale(minute: number, replicas: number): Promise<void> {
    await this.#settings.stage.operator.request({
      method: 'PATCH',
      path: ['apis', 'stable.agones.dev', 'v1alpha1', 'gameservernodes', OBJECT, 'scale'],
      body: { spec: { replicas } },
      contentType: 'application/merge-patch+json',
    });
    this.#tell(
      minute,
      'rescale',
      `an operator scales the pool to ${replicas} nodes: kubectl scale gsn ${OBJECT} --replicas ${replicas}`,
    );
  }

  #lose(minute: number): void {
    const { outside } = this.#settings.stage;
    const name = this.#nodesByGames().find((node) => gamesOn(outside, node) > 0);
    const machine = outside.machines.list().find(({ node, running }) => node === name && running);
    if (machine === undefined) throw new Error('there is no machine with a game on it to be lost');
    const before = outside.killedSessions.length;
    outside.machines.lose(machine.instance);
    const lost = outside.killedSessions.length - before;
    this.#tell(
      minute,
      'loss',
      `the machine of ${nodeText(machine.node)} fails, with ${lost === 1 ? 'a game' : `${lost} games`} on it`,
    );
  }

  #beginBlindness(minute: number): void {
    const { faults } = this.#settings.stage.outside;
    const fault = { kind: 'refuse', code: 'ServiceUnavailable' } as const;
    const times = Number.POSITIVE_INFINITY;
    this.#endings.push(faults.add({ service: 'kubernetes', operation: 'list pods', times, fault }));
    this.#tell(minute, 'blind', 'the API server refuses to list pods for some minutes');
  }

  #group() {
    const group = this.#settings.stage.outside.groups.get(GROUP);
    if (group === undefined) throw new Error(`there is no group ${GROUP}`);
    return group;
  }

  /** Nodes that take games, those with the fewest first. */
  #nodesByGames(): string[] {
    const { outside } = this.#settings.stage;
    const nodes = outside
      .cluster()
      .store.list('nodes')
      .filter((node) => !isCordoned(node));
    const names = nodes.map(({ metadata }) => metadata.name);
    return names.sort((a, b) => gamesOn(outside, a) - gamesOn(outside, b) || (a < b ? -1 : 1));
  }

  #tell(minute: number, kind: Incident['kind'], text: string): void {
    this.#told.push({ minute, kind, text });
  }
}
