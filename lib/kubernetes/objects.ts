import { sha256 } from '../hash.ts';
import { CallError } from '../scaler/call-error.ts';
import type { GameServerNodeObject } from '../scaler/observation.ts';
import type { ClusterEvent, Objects } from '../scaler/ports.ts';
import { clip } from '../schema.ts';
import { isoTime } from '../time.ts';
import type { KubernetesApi } from './api.ts';
import { FIELD_MANAGER } from './cluster.ts';
import { listAll } from './list-all.ts';
import { readObject } from './read-object.ts';
import { GAME_SERVER_NODES } from './shapes.ts';

const API_VERSION = 'stable.agones.dev/v1alpha1';
const PATH = ['apis', 'stable.agones.dev', 'v1alpha1', 'gameservernodes'];

/** Where the events about objects without a namespace are, as the API server wants it. */
const EVENTS_PATH = ['api', 'v1', 'namespaces', 'default', 'events'];
/** Characters of an event's message (validation of core/v1 Event). */
const EVENT_MESSAGE_LENGTH = 1024;
/** Characters of an object's name. */
const NAME_LENGTH = 253;

/** The GameServerNodes behind an API server. */
export function objectsOf(api: KubernetesApi): Objects {
  return {
    list: () => listAll(api, GAME_SERVER_NODES, { path: PATH }),

    async writeStatus({ name, uid }, status) {
      // A merge patch would keep what the new status has no longer. Without the test, a new object of the name would get the
      // status of the old one; where the test fails the server says 422, as it does of a status that its schema refuses.
      const body = [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'add', path: '/status', value: status },
      ];
      const query = { fieldManager: FIELD_MANAGER };
      const contentType = 'application/json-patch+json';
      try {
        await api.request({ method: 'PATCH', path: [...PATH, name, 'status'], query, contentType, body });
      } catch (error) {
        if (isAnswer(error, '404') || (isAnswer(error, '422') && (await isGone(api, { name, uid })))) return;
        throw error;
      }
    },

    async tell(event) {
      try {
        await api.request({
          method: 'POST',
          path: EVENTS_PATH,
          query: { fieldManager: FIELD_MANAGER },
          body: eventOf(event),
        });
      } catch (error) {
        // Its name is made of what it says, so it has been told.
        if (!isAnswer(error, '409')) throw error;
      }
    },
  };
}

type Named = Pick<GameServerNodeObject, 'name' | 'uid'>;

/** Whether there is none of that name and uid any more. */
async function isGone(api: KubernetesApi, { name, uid }: Named): Promise<boolean> {
  try {
    return readObject(GAME_SERVER_NODES, await api.request({ method: 'GET', path: [...PATH, name] })).uid !== uid;
  } catch (error) {
    if (isAnswer(error, '404')) return true;
    throw error;
  }
}

function isAnswer(error: unknown, code: string): boolean {
  return error instanceof CallError && error.code === code;
}

function eventOf({ object, type, reason, message, at }: ClusterEvent): object {
  const digest = sha256(JSON.stringify([object.uid, type, reason, message, at]))
    .toString('hex')
    .slice(0, 16);
  // A name may not have a dot or a hyphen before the dot.
  const name = object.name.slice(0, NAME_LENGTH - digest.length - 1).replace(/[.-]+$/, '');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${digest}`, namespace: 'default' },
    involvedObject: { apiVersion: API_VERSION, kind: 'GameServerNode', name: object.name, uid: object.uid },
    type,
    reason,
    message: clip(message, EVENT_MESSAGE_LENGTH),
    source: { component: FIELD_MANAGER },
    reportingComponent: FIELD_MANAGER,
    count: 1,
    firstTimestamp: wholeSeconds(at),
    lastTimestamp: wholeSeconds(at),
  };
}

/** Kubernetes's `Time` has no fractions. */
function wholeSeconds(at: ClusterEvent['at']): string {
  return isoTime(at).replace(/\.\d+Z$/, 'Z');
}
