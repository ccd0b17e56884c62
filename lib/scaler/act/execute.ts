import type { Intent, Order } from '../plan/intents.ts';
import { cordonMarks, NO_MARKS } from '../pool/marks.ts';
import { deleteServers } from './delete-servers.ts';
import { finishMachine, removeNode } from './remove-node.ts';
import { attempt, forget, isDefinite, mayBegin, remember, type TickContext, withoutOrder } from './tick-context.ts';
import { refuseCordon, refuseUncordon, refuseUnmark } from './validate.ts';

/**
 * Does what a tick has planned, one after the other, each looked at again right before. What fails or has become
 * pointless is left for the next tick, and holds up nothing else. Throws nothing that a port answers.
 */
export async function execute(intents: readonly Intent[], context: TickContext): Promise<void> {
  for (const intent of intents) await carryOut(intent, context);
}

async function carryOut(intent: Intent, context: TickContext): Promise<void> {
  switch (intent.kind) {
    case 'forget':
      if (mayBegin(context, 'ledger')) await forget(context, intent.entry.uid);
      return;
    case 'finish':
      return finishMachine(context, intent.entry);
    case 'forget-order':
      if (mayBegin(context, 'ledger')) await remember(context, withoutOrder);
      return;
    case 'unmark':
    case 'uncordon':
    case 'cordon':
      return patch(context, intent);
    case 'increase':
      return increase(context, intent.order);
    case 'drain':
      return deleteServers(context, intent.nodes, intent.limit);
    case 'remove':
      return removeNode(context, intent.node);
  }
}

async function patch(
  context: TickContext,
  { kind, node }: Extract<Intent, { kind: 'unmark' | 'uncordon' | 'cordon' }>,
): Promise<void> {
  if (!mayBegin(context, kind)) return;
  const { name } = node.node;
  const read = await attempt(context, 'read', name, () => context.cluster.readNode(name));
  if (!read.ok || read.value === undefined) return;
  const fresh = read.value;
  const refuse = { cordon: refuseCordon, uncordon: refuseUncordon, unmark: refuseUnmark }[kind];
  if (refuse(fresh, node, context.object) !== undefined || !mayBegin(context, kind)) return;
  const annotations = kind === 'cordon' ? cordonMarks(context.object, context.clock()) : NO_MARKS;
  const unschedulable = kind === 'unmark' ? {} : { unschedulable: kind === 'cordon' };
  const answer = await attempt(context, kind, name, () =>
    context.cluster.patchNode(fresh, { ...unschedulable, annotations }),
  );
  if (!answer.ok) return;
  if (kind === 'cordon' && !fresh.unschedulable) context.deeds.push({ kind: 'cordoned', node: name });
  if (kind === 'uncordon') context.deeds.push({ kind: 'uncordoned', node: name });
}

/** Orders machines. Where the provider cannot tell what is under way, it is written down before it is asked. */
async function increase(context: TickContext, { entry, ...order }: Order): Promise<void> {
  if (!mayBegin(context, 'increase')) return;
  const before = context.ledger.pendingIncrease;
  const takeBack = () =>
    remember(context, (ledger) =>
      before === undefined ? withoutOrder(ledger) : { ...withoutOrder(ledger), pendingIncrease: before },
    );
  if (entry !== undefined) {
    if (!(await remember(context, (ledger) => ({ ...ledger, pendingIncrease: entry })))) return;
    // Whoever was paused meanwhile may have been given up: the order is another run's by now.
    if (!mayBegin(context, 'increase')) return void (await takeBack());
  }
  const answer = await attempt(context, 'increase', context.object, () => context.provider.increase(order));
  if (answer.ok) {
    context.deeds.push({ kind: 'increased', by: order.by });
    return;
  }
  const { kind, message } = answer.error;
  if (kind === 'refused')
    context.findings.push({ reason: 'CapacityShortage', message: `ordering was refused: ${message}` });
  if (!isDefinite(kind)) {
    // It counts as ordered: to order again what may come would be to have it twice.
    context.findings.push({
      reason: 'Unknown',
      message: `whether ${order.by} machines were ordered is not known: ${message}`,
    });
  } else if (entry !== undefined) {
    await takeBack();
  }
}
