import { Command } from 'commander';
import type { Connection } from '../client/connection.ts';
import type { NodeDetails, NodeSpecInput, NodeView } from '../client/index.ts';
import { readNode } from '../client/nodes.ts';
import { nodeId, poolName } from '../ids.ts';
import { FREE } from '../nodes/claims.ts';
import { nodeSpecSchema } from '../nodes/node.ts';
import { amountOf, checkOrder, TASKS_RESOURCE, UNLIMITED_TASKS } from '../nodes/resources.ts';
import { BERTH_LABELS } from '../scaler/registration/registration-spec.ts';
import { parsed } from '../schema.ts';
import { type Cli, type CommonOptions, commandOf, type Run } from './context.ts';
import { readDocuments } from './input.ts';
import { BadInputError, type Io, showProgress } from './io.ts';
import { counted, fields, table, time } from './table.ts';

/** `berth node`. */
export function nodeCommands(cli: Cli): Command {
  return new Command('node')
    .description('nodes: machines that tasks are placed on')
    .addCommand(listCommand(cli))
    .addCommand(showCommand(cli))
    .addCommand(
      changeCommand(cli, 'eligibility', '<eligible|ineligible>', 'let new tasks be placed on a node, or not', (to) => {
        return (berth, pool, node) => berth.setEligibility(pool, node, to as 'eligible');
      }),
    )
    .addCommand(
      changeCommand(
        cli,
        'drain',
        '<on|off>',
        'begin or end the drain of a node: its tasks are to go elsewhere',
        (to) => {
          if (to !== 'on' && to !== 'off') throw new BadInputError(`the drain is ${to}; expected on or off`);
          return (berth, pool, node) => berth.setDrain(pool, node, to === 'on');
        },
      ),
    )
    .addCommand(
      changeCommand(cli, 'status', '<initializing|ready|disconnected|down>', 'say how a node is', (to) => {
        return (berth, pool, node) => berth.setNodeStatus(pool, node, to as 'ready');
      }),
    )
    .addCommand(registerCommand(cli))
    .addCommand(removeCommand(cli));
}

function listCommand(cli: Cli): Command {
  return commandOf('list', 'the nodes of a pool')
    .argument('<pool>')
    .action((pool: string, options: CommonOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const { nodes } = await berth.snapshot(pool);
        const sorted = nodes.toSorted((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
        print(sorted, () =>
          table(
            ['node', 'status', 'eligibility', 'drain', 'tasks', 'cpu free', 'memory free'],
            sorted.map((node) => [
              ...[node.nodeId, node.status, eligibilityText(node), node.drain ? 'yes' : '-'],
              ...[amountOf(node.capacity, TASKS_RESOURCE) - amountOf(node.free, TASKS_RESOURCE)],
              ...[leftText(node, 'cpu'), leftText(node, 'memory')],
            ]),
            `pool ${pool} has no nodes; register some with: berth node register --file FILE`,
          ),
        );
        return undefined;
      }),
    );
}

function showCommand(cli: Cli): Command {
  return commandOf('show', 'a node: what is left of it, its events, the refusals that count now, its tasks')
    .argument('<pool>')
    .argument('<node>')
    .action((pool: string, node: string, options: CommonOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const details = await berth.node(pool, node);
        print(details, () => detailsText(details));
        return undefined;
      }),
    );
}

function changeCommand(
  cli: Cli,
  name: string,
  argument: string,
  description: string,
  changeTo: (to: string) => (berth: Run['berth'], pool: string, node: string) => Promise<boolean>,
): Command {
  return commandOf(name, description)
    .argument('<pool>')
    .argument('<node>')
    .argument(argument)
    .action((pool: string, node: string, to: string, options: CommonOptions) =>
      cli.run(options, async ({ berth, print }) => {
        const changed = await changeTo(to)(berth, pool, node);
        print({ pool, node, [name]: to, changed }, () => `node ${node}: ${name} ${to}${changed ? '' : ', as it was'}`);
        return undefined;
      }),
    );
}

/** Bytes of one node's description: far more than a node of all bounds takes. */
const NODE_BYTES = 256 * 1024;

function registerCommand(cli: Cli): Command {
  return commandOf('register', 'register nodes, or register them again with other values')
    .requiredOption('-f, --file <file>', 'nodes as JSON: one, a list, or one a line; - for standard input')
    .action((options: CommonOptions & { readonly file: string }) =>
      cli.run(options, async ({ berth, print, io }) => {
        const specs = await readNodes(options.file, io);
        const progress = await showProgress(io, 'nodes registered');
        try {
          await berth.registerNodes(specs, (done, of) => progress.at(done, of));
        } finally {
          progress.end();
        }
        print({ registered: specs.length }, () => `registered ${counted(specs.length, 'node')}`);
        return undefined;
      }),
    );
}

/** The nodes of a file, all of them checked before the first is registered. */
async function readNodes(file: string, io: Io): Promise<NodeSpecInput[]> {
  const documents = await readDocuments(file, io, { what: 'a node', each: NODE_BYTES });
  const seen = new Map<string, string>();
  return documents.map(({ where, value }) => {
    const { pool, nodeId: id } = parsed(nodeSpecSchema, value, `${where}: the node`);
    const earlier = seen.get(`${pool} ${id}`);
    if (earlier !== undefined) {
      throw new BadInputError(`${where}: node ${id} of pool ${pool} stands at ${earlier} already: take one out`);
    }
    seen.set(`${pool} ${id}`, where);
    return value as NodeSpecInput;
  });
}

function removeCommand(cli: Cli): Command {
  return commandOf('remove', 'remove a node; refused while tasks hold something of it')
    .argument('<pool>')
    .argument('<node>')
    .option('--force', 'take it out of service and orphan its tasks; also one that the node scaler registers again')
    .action((pool: string, node: string, options: CommonOptions & { readonly force?: true }) =>
      cli.run(options, async ({ berth, connection, print, io }) => {
        const force = options.force ?? false;
        if (!force) await refuseScalers(connection, pool, node);
        const progress = await showProgress(io, 'tasks orphaned');
        try {
          const orphaned = await berth.removeNode(pool, node, { force, onProgress: (done) => progress.at(done) });
          const tasks = orphaned === 0 ? '' : `; ${counted(orphaned, 'task')} orphaned`;
          print({ pool, node, orphaned }, () => `removed node ${node}${tasks}`);
        } finally {
          progress.end();
        }
        return undefined;
      }),
    );
}

/** The scaler registers it anew with its next tick, as eligible: whoever wants no tasks there would see them come again. */
async function refuseScalers(connection: Connection, pool: string, node: string): Promise<void> {
  const { profile } = await readNode(connection, parsed(poolName, pool, 'the pool'), parsed(nodeId, node, 'the node'));
  const by = profile?.labels[BERTH_LABELS.registeredBy];
  if (by === undefined) return;
  throw new Error(
    `node ${node} is registered by the node scaler (${BERTH_LABELS.registeredBy}: ${by}), and would be there again within a minute, eligible: for no new tasks on it, kubectl cordon ${node}, or berth node eligibility ${pool} ${node} ineligible; it goes by itself when its machine does. To remove it all the same, add --force, which orphans its tasks`,
  );
}

function eligibilityText({ eligibility, eligibleAt }: Pick<NodeView, 'eligibility' | 'eligibleAt'>): string {
  return eligibleAt === undefined ? eligibility : `${eligibility} until ${time(eligibleAt)}`;
}

function leftText({ free, capacity }: Pick<NodeView, 'free' | 'capacity'>, name: string): string {
  const of = amountOf(capacity, name);
  return name === TASKS_RESOURCE && of === UNLIMITED_TASKS ? 'no limit' : `${amountOf(free, name)} of ${of}`;
}

function detailsText({ account, schedulable, profile, events, refusals, tasks }: NodeDetails): string {
  const { claims, sharers, withdrawn, capacity, free } = account;
  const names = checkOrder(new Set([...Object.keys(capacity), ...Object.keys(free)]));
  const held = [...claims].filter(([, holder]) => holder !== FREE).map(([key, holder]) => [key, holder]);
  const shared = [...sharers].map(([key, ids]) => [key, [...ids].sort().join(', ')]);
  const { times, threshold, windowSeconds, enabled, marksLeft } = refusals;
  const labels = Object.entries(profile.labels).map(([name, value]) => `${name}=${value}`);
  const window = `${times.length} of ${threshold} in ${windowSeconds} s, ${marksLeft.toFixed(1)} marks left in the pool`;
  return [
    fields([
      ['node', account.nodeId],
      ['status', account.status],
      ['eligibility', eligibilityText(account)],
      ['drain', account.drain ? 'yes' : 'no'],
      ['takes new tasks', schedulable ? 'yes' : 'no'],
      ['registered', time(profile.registeredAt)],
      ['last changed by', `commit ${account.index}`],
      ['labels', labels.join(', ') || '-'],
      ['not to be claimed', [...withdrawn].join(', ') || '-'],
    ]),
    section(
      'left',
      table(
        ['resource', 'left'],
        names.map((name) => [name, leftText(account, name)]),
        'nothing',
      ),
    ),
    section('held', table(['what', 'by task'], [...held, ...shared] as string[][], 'nothing')),
    section('refusals that count', enabled ? [window, ...times.map((at) => time(at))].join('\n') : 'none are counted'),
    section(
      'events',
      table(
        ['at', 'what'],
        events.map(({ at, message }) => [time(at), message]),
        'none',
      ),
    ),
    section(
      'tasks',
      table(
        ['task', 'service', 'slot', 'state', 'wanted', 'since', 'holds'],
        tasks.map((task) => [
          ...[task.taskId, task.serviceId, task.slot ?? '-', task.state, task.desiredState],
          ...[time(task.appliedAt), task.released ? 'nothing' : amountsText(task.resources)],
        ]),
        'none',
      ),
    ),
  ].join('\n\n');
}

function amountsText(resources: Readonly<Record<string, number>>): string {
  const names = checkOrder(Object.keys(resources));
  return names.map((name) => `${name} ${resources[name]}`).join(', ') || 'a place';
}

function section(title: string, content: string): string {
  return `${title.toUpperCase()}\n${content}`;
}
