import type { NodeId, PlanId } from '../ids.ts';
import type { PlanResult, RejectedNode } from './result.ts';

/**
 * Rejected nodes that one event names, and bytes that they take. The result has all of them. EventBridge takes 256 KB in one
 * request, which holds ten events: what it refuses for its size would be told again for ever, and its pool would wait.
 */
const MOST_NODES = 100;
const MOST_NODE_BYTES = 20 * 1024;

/**
 * What the event bus is told of a plan, made from its stored result: the same event again after a redelivery. Consumers
 * tell a repeated one by `planId`, and `nodeId` where there is one.
 */
export type PlanEvent =
  | {
      readonly type: 'Plan Refused';
      readonly detail: {
        readonly planId: PlanId;
        readonly pool: string;
        readonly evalId?: string;
        /** `partial` or `rejected`. */
        readonly status: PlanResult['status'];
        readonly index: number;
        readonly refreshIndex: number;
        /** The first by node id, at most a hundred and 20 KB of them; `rejectedCount` says how many there are. */
        readonly rejectedNodes: readonly RejectedNode[];
        readonly rejectedCount: number;
        /** RFC 3339, UTC. */
        readonly appliedAt: string;
      };
    }
  | {
      readonly type: 'Node Made Ineligible';
      readonly detail: {
        readonly pool: string;
        readonly nodeId: NodeId;
        /** The plan whose refusal was one too many. */
        readonly planId: PlanId;
        readonly index: number;
        /** RFC 3339, UTC. */
        readonly appliedAt: string;
      };
    };

/** The events of a result: none if nothing of the plan was refused. */
export function eventsOf({
  planId,
  pool,
  evalId,
  status,
  index,
  refreshIndex,
  rejectedNodes,
  ineligibleNodes,
  appliedAt,
}: PlanResult): PlanEvent[] {
  if (rejectedNodes.length === 0) return [];
  const refused: PlanEvent = {
    type: 'Plan Refused',
    detail: {
      planId,
      pool,
      ...(evalId === undefined ? {} : { evalId }),
      status,
      index,
      refreshIndex,
      rejectedNodes: firstOf(rejectedNodes),
      rejectedCount: rejectedNodes.length,
      appliedAt,
    },
  };
  const ineligible = ineligibleNodes.map(
    (nodeId): PlanEvent => ({ type: 'Node Made Ineligible', detail: { pool, nodeId, planId, index, appliedAt } }),
  );
  return [refused, ...ineligible];
}

function firstOf(nodes: readonly RejectedNode[]): RejectedNode[] {
  let bytes = 0;
  return nodes.slice(0, MOST_NODES).filter((node) => {
    bytes += Buffer.byteLength(JSON.stringify(node));
    return bytes <= MOST_NODE_BYTES;
  });
}
