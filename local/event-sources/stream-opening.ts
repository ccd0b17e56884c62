import { type Positions, StreamReader } from '../dynamodb/stream-reader.ts';
import type { DeclaredMapping } from '../template/event-source-mappings.ts';
import { TemplateError } from '../template/scope.ts';
import { type StreamMapping, streamMapping } from '../template/stream-mappings.ts';
import type { EventSourceContext } from './event-source.ts';

/** A stream source before anything is read. */
export interface OpenedStream {
  /** By which its checkpoints are kept. */
  readonly id: string;
  readonly mapping: StreamMapping;
  /** Name of the table. */
  readonly table: string;
  readonly partitionKey: string;
  /** Where it begins. */
  readonly positions: Positions;
}

/**
 * What a mapping of a stream comes to: it goes on where the last run stopped, or else begins where the mapping says.
 *
 * @throws TemplateError
 */
export async function openStream(declared: DeclaredMapping, context: EventSourceContext): Promise<OpenedStream> {
  const { streams, resources, checkpoints } = context;
  const { stack, logicalId } = declared.declared;
  const { sourceArn } = declared;
  const id = `${stack.name}/${logicalId}`;
  const mapping = streamMapping(resources, declared);
  const table = streams.tables.find(({ streamArn }) => streamArn === sourceArn);
  if (table === undefined) throw new TemplateError(`${id}: the template has no table with the stream ${sourceArn}`);
  const positions =
    checkpoints.positions(id, sourceArn) ??
    (mapping.startingPosition === 'TRIM_HORIZON' ? {} : await StreamReader.latest(streams.client, sourceArn));
  return { id, mapping, table: table.name, partitionKey: table.keys[0] ?? '', positions };
}
