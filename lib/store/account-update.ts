import type { BlindChange, Demand } from '../nodes/blind.ts';
import { ANY_ADDRESS, FREE, isListed, isPort, portKey } from '../nodes/claims.ts';
import { BOUNDS } from '../settings.ts';

/** An UpdateItem's expressions, its values as plain JavaScript. */
export interface UpdateExpression {
  readonly UpdateExpression: string;
  readonly ConditionExpression: string;
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Attributes by the names that expressions give them. All have one: which words DynamoDB reserves is a long list. */
const ATTRIBUTES = {
  '#node': 'nodeId',
  '#version': 'version',
  '#index': 'index',
  '#status': 'status',
  '#schedulable': 'schedulable',
  '#free': 'free',
  '#claims': 'claims',
  '#withdrawn': 'withdrawn',
  '#ranges': 'reservedRanges',
  '#named': 'namedBytes',
} as const;

const DEMANDS: Readonly<Record<Demand, string>> = {
  there: 'attribute_exists(#node)',
  ready: '#status = :ready',
  schedulable: '#schedulable = :yes',
};

/**
 * The update of an account that nobody has read: `change` applied, on the condition that every part of it fits. `index` is
 * the pool's index of the commit; left out where no plan is the cause.
 */
export function blindUpdate(change: BlindChange, index?: number): UpdateExpression {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = { ':one': 1 };
  const conditions = [DEMANDS[change.demand]];
  const sets = ['#version = #version + :one'];
  const removes: string[] = [];
  const adds: string[] = [];
  const deletes: string[] = [];
  if (index !== undefined) {
    sets.push('#index = :index');
    values[':index'] = index;
  }
  if (change.demand === 'ready') {
    values[':ready'] = 'ready';
  }
  if (change.demand === 'schedulable') values[':yes'] = true;

  let count = 0;
  for (const [resource, amount] of change.net) {
    const at = count++;
    names[`#r${at}`] = resource;
    const need = change.need.get(resource);
    if (need !== undefined) {
      conditions.push(`#free.#r${at} >= :n${at}`);
      values[`:n${at}`] = need;
    }
    if (amount !== 0) {
      values[':zero'] = 0;
      values[`:a${at}`] = amount;
      sets.push(`#free.#r${at} = if_not_exists(#free.#r${at}, :zero) - :a${at}`);
    }
  }

  const { net, need } = change.named;
  if (need !== undefined) {
    conditions.push('#named <= :room');
    values[':room'] = BOUNDS.namedClaimBytesPerNode - need;
  }
  if (net !== 0) {
    // An account that an earlier version has written does not have the sum: that is for who has read it.
    if (need === undefined) conditions.push('attribute_exists(#named)');
    sets.push('#named = #named + :named');
    values[':named'] = net;
  }

  let portsAsked = false;
  count = 0;
  for (const [key, claim] of change.claims) {
    const at = count++;
    const held = `#claims.#k${at}`;
    names[`#k${at}`] = key;
    values[`:t${at}`] = claim.task;
    const notShared = () => {
      if (!isListed(key)) conditions.push(`attribute_not_exists(#k${at})`);
    };
    const notWithdrawn = () => {
      values[`:k${at}`] = key;
      conditions.push(`NOT contains(#withdrawn, :k${at})`);
      const port = /^port\/.*\/(\d+)$/.exec(key);
      if (!port) return;
      values[`:p${at}`] = portKey(ANY_ADDRESS, Number(port[1]));
      conditions.push(`NOT contains(#withdrawn, :p${at})`);
      portsAsked = true;
    };
    switch (claim.op) {
      case 'take':
        if (isListed(key)) {
          values[':free'] = FREE;
          conditions.push(`${held} = :free`);
        } else {
          conditions.push(`attribute_not_exists(${held})`);
        }
        notShared();
        notWithdrawn();
        sets.push(`${held} = :t${at}`);
        break;
      case 'release':
        conditions.push(`${held} = :t${at}`);
        if (isListed(key)) {
          values[':free'] = FREE;
          sets.push(`${held} = :free`);
        } else {
          removes.push(held);
        }
        break;
      case 'pass':
        values[`:f${at}`] = claim.from;
        conditions.push(`${held} = :f${at}`);
        notShared();
        notWithdrawn();
        sets.push(`${held} = :t${at}`);
        break;
    }
  }
  // Reservations too wide to stand as keys: a port can only be decided about by who has read them.
  if (portsAsked) conditions.push('attribute_not_exists(#ranges)');

  for (const [key, tasks] of change.joins) {
    const at = count++;
    names[`#k${at}`] = key;
    values[`:s${at}`] = tasks;
    if (!isPort(key)) conditions.push(`attribute_not_exists(#claims.#k${at})`);
    adds.push(`#k${at} :s${at}`);
  }
  let members = 0;
  for (const [key, tasks] of change.leaves) {
    const at = count++;
    names[`#k${at}`] = key;
    values[`:s${at}`] = tasks;
    deletes.push(`#k${at} :s${at}`);
    // It may be the port's holder instead, in an account that an earlier version has written: that is for who has read it.
    if (isPort(key)) {
      for (const task of tasks) {
        const member = `:m${members++}`;
        values[member] = task;
        conditions.push(`contains(#k${at}, ${member})`);
      }
    }
  }

  const clause = (keyword: string, parts: readonly string[]) =>
    parts.length > 0 ? [`${keyword} ${parts.join(', ')}`] : [];
  const update = [
    ...clause('SET', sets),
    ...clause('REMOVE', removes),
    ...clause('ADD', adds),
    ...clause('DELETE', deletes),
  ].join(' ');
  const condition = conditions.join(' AND ');
  // DynamoDB refuses a name that no expression uses.
  for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
    if (`${update} ${condition}`.includes(name)) names[name] = attribute;
  }
  return { UpdateExpression: update, ConditionExpression: condition, names, values };
}
