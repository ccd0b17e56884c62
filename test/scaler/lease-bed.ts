import type { Intercept } from '../../cases/scaler/world.ts';
import type { GameServerNodeObject } from '../../lib/scaler/observation.ts';
import type { Objects } from '../../lib/scaler/ports.ts';
import { MemoryTurns } from '../support/memory-turns.ts';
import { OBJECT, ScalerBed } from './bed.ts';

export const CLUSTER = 'eu-central-1/game';

/** A pool in memory with leases and ledgers, and an object that functions find in its cluster. */
export class LeaseBed extends ScalerBed {
  readonly turns = new MemoryTurns();
  /** Effects that come only when the function has given up waiting. */
  readonly late: (() => unknown)[] = [];
  /** Told of every call of a function, by its operation. */
  onCall: (operation: string) => void = () => undefined;
  readonly #createdAt = this.now;
  #status: unknown;
  #generations = 0;
  #replicas: number | undefined;

  violate(violation: string): void {
    this.world.log.must(false, violation);
  }

  /** Lets all come that is late. What comes too late comes to nothing. */
  async settle(): Promise<void> {
    for (const effect of this.late.splice(0)) await quietly(effect);
  }

  objectsBy(asked: Intercept): Objects {
    return {
      list: () => asked({ operation: 'listObjects', subject: CLUSTER }, () => [this.#object()]),
      writeStatus: (_, status) =>
        asked({ operation: 'writeStatus', subject: OBJECT }, () => {
          this.#status = status;
        }),
      tell: () => asked({ operation: 'tell', subject: OBJECT }, () => undefined),
    };
  }

  #object(): GameServerNodeObject {
    if (this.#replicas !== this.replicas) this.#generations += 1;
    this.#replicas = this.replicas;
    const [generation, status, createdAt] = [this.#generations, this.#status, this.#createdAt];
    return { name: OBJECT, uid: 'u', resourceVersion: '1', generation, createdAt, spec: this.spec(), status };
  }
}

async function quietly(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'CallError') throw error;
  }
}
