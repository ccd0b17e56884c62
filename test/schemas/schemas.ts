import { readFileSync } from 'node:fs';
import ts from 'typescript';
import * as z from 'zod/mini';
import { nodeSpecSchema } from '../../lib/nodes/node.ts';
import { poolSpecSchema } from '../../lib/nodes/pool.ts';
import { planSchema } from '../../lib/plans/plan.ts';
import { planResultSchema } from '../../lib/plans/result.ts';
import { taskSchema } from '../../lib/tasks/task.ts';

/** A JSON Schema of `docs/schemas`, and what it is made from. */
interface Published {
  readonly title: string;
  readonly description: string;
  readonly schema: z.ZodMiniType;
  /** `input`: what a user writes, so that what has a default may be left out. */
  readonly io: 'input' | 'output';
  /** Where its fields are described: the comments there are the descriptions here. */
  readonly sources: readonly string[];
}

const ONE_TASK =
  'Beyond this schema: a task id stands in a plan once, and `pool` is the message group that the plan is sent in.';

const PUBLISHED: Readonly<Record<string, Published>> = {
  plan: {
    title: 'Plan',
    description: `What a scheduler worker proposes for one pool: one message of the plan queue, as JSON of at most 1 MiB. ${ONE_TASK}`,
    schema: planSchema,
    io: 'input',
    sources: ['lib/plans/plan.ts'],
  },
  result: {
    title: 'PlanResult',
    description: 'What became of a plan. Written once, kept for 16 days.',
    schema: planResultSchema,
    io: 'output',
    sources: ['lib/plans/result.ts'],
  },
  node: {
    title: 'Node',
    description:
      'What registers a node, or registers it again. Beyond this schema: reserved ports are ports and ranges of ports, "22,80-90".',
    schema: nodeSpecSchema,
    io: 'input',
    sources: ['lib/nodes/node.ts'],
  },
  pool: {
    title: 'Pool',
    description: 'What makes a pool, or changes its settings.',
    schema: poolSpecSchema,
    io: 'input',
    sources: ['lib/nodes/pool.ts'],
  },
  task: {
    title: 'Task',
    description: 'A task as it is stored: one run of a slot on a node. Times are milliseconds since 1970.',
    schema: taskSchema,
    io: 'output',
    sources: ['lib/plans/plan.ts', 'lib/tasks/task.ts'],
  },
};

export const SCHEMA_FILES = Object.keys(PUBLISHED).map((name) => [name, `docs/schemas/${name}.schema.json`] as const);

/** The JSON Schema (draft 2020-12) of `name`, as the text of its file. */
export function schemaText(name: string): string {
  const published = PUBLISHED[name];
  if (!published) throw new Error(`no schema is published as ${name}`);
  const { title, description, schema, io, sources } = published;
  const comments = new Map(sources.flatMap((source) => [...fieldComments(source)]));
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' });
  const { $schema, ...rest } = described(json, comments) as Record<string, unknown>;
  return `${JSON.stringify({ $schema, $id: `urn:berth:v1:${name}`, title, description, ...rest }, undefined, 2)}\n`;
}

/** `json` with the description of each property whose name has a comment. */
function described(json: unknown, comments: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(json)) return json.map((item) => described(item, comments));
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => {
      if (key !== 'properties') return [key, described(value, comments)];
      const properties = Object.entries(value as object).map(([name, property]) => {
        const comment = comments.get(name);
        const inner = described(property, comments) as object;
        return [name, comment === undefined ? inner : { description: comment, ...inner }];
      });
      return [key, Object.fromEntries(properties)];
    }),
  );
}

/** The comments on the fields of the objects in a source file, by name. */
function fieldComments(path: string): Map<string, string> {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const comments = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    if ((ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) && ts.isIdentifier(node.name)) {
      const comment = ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).at(-1)?.comment);
      if (comment !== undefined) comments.set(node.name.text, comment.replaceAll(/\s+/g, ' '));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return comments;
}
