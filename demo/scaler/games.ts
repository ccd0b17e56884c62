import type { EpochMs } from '../../lib/time.ts';
import type { Outside } from '../../local/outside/outside.ts';
import type { Player } from './players.ts';
import { FLEET, momentOf } from './scene.ts';

/** A session on a game server. */
export interface Game {
  readonly server: string;
  readonly node: string;
  readonly startedAt: EpochMs;
  /** Seconds that its players had waited for a server. */
  readonly waitedSeconds: number;
  /** When its players will have had enough. */
  readonly until: EpochMs;
  endedAt?: EpochMs;
  /** Why it ended before its time. */
  killed?: string;
}

export interface GamesSettings {
  readonly outside: Pick<Outside, 'fleets' | 'cluster' | 'killedSessions'>;
  readonly players: readonly Player[];
  /** Servers that are to be ready beside those in use, and the most that there may be. */
  readonly buffer: number;
  readonly most: number;
}

/** Who plays: seats players in the order in which they come, ends their games, and keeps a buffer of servers. */
export class Games {
  readonly #settings: GamesSettings;
  readonly #coming: Player[];
  readonly #waiting: Player[] = [];
  readonly #all: Game[] = [];
  readonly #playing = new Map<string, Game>();
  #known = 0;

  constructor(settings: GamesSettings) {
    this.#settings = settings;
    this.#coming = [...settings.players];
  }

  get all(): readonly Game[] {
    return this.#all;
  }

  get playing(): readonly Game[] {
    return [...this.#playing.values()];
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** All that players do until now. */
  advance(now: EpochMs): void {
    const { fleets } = this.#settings.outside;
    this.#mourn();
    for (const game of this.playing) if (game.until <= now) this.#end(game, now);
    while ((this.#coming[0]?.at ?? Number.POSITIVE_INFINITY) <= now) this.#waiting.push(this.#coming.shift() as Player);
    while (this.#waiting.length > 0) {
      const server = fleets.allocate(FLEET);
      if (server === undefined) break;
      this.#begin(server, this.#waiting.shift() as Player, now);
    }
    const { buffer, most } = this.#settings;
    fleets.scale(FLEET, Math.min(most, this.#playing.size + this.#waiting.length + buffer));
  }

  /** Somebody gets that very server, if it is ready; whether they did. */
  take(server: string, player: Player): boolean {
    const got = this.#settings.outside.fleets.allocateServer(server);
    if (got) this.#begin(server, player, player.at);
    return got;
  }

  /** Sessions that were lost since it was looked last. */
  #mourn(): void {
    const { killedSessions } = this.#settings.outside;
    for (const { server, at, cause } of killedSessions.slice(this.#known)) {
      const game = this.#playing.get(server);
      if (game === undefined) continue;
      Object.assign(game, { endedAt: momentOf(at), killed: cause });
      this.#playing.delete(server);
    }
    this.#known = killedSessions.length;
  }

  #begin(server: string, { at, minutes }: Player, now: EpochMs): void {
    const node = String(this.#settings.outside.cluster().store.get('gameservers', server, 'default')?.status?.nodeName);
    const until = (now + minutes * 60_000) as EpochMs;
    const game: Game = { server, node, startedAt: now, waitedSeconds: (now - at) / 1000, until };
    this.#all.push(game);
    this.#playing.set(server, game);
  }

  #end(game: Game, now: EpochMs): void {
    this.#settings.outside.fleets.endGame(game.server);
    game.endedAt = now;
    this.#playing.delete(game.server);
  }
}
