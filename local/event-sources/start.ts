import type { DeclaredMapping } from '../template/event-source-mappings.ts';
import { TemplateError } from '../template/scope.ts';
import type { EventSource, EventSourceContext } from './event-source.ts';
import { SqsEventSource } from './sqs.ts';
import { StreamEventSource } from './stream.ts';

type Open = (mapping: DeclaredMapping, context: EventSourceContext) => EventSource | Promise<EventSource>;

/** Kinds of source by the service in their ARN. */
const KINDS: Readonly<Record<string, Open>> = {
  dynamodb: (mapping, context) => StreamEventSource.open(mapping, context),
  sqs: (mapping, context) => new SqsEventSource(mapping, context),
};

/**
 * The event source that `mapping` declares, paused.
 *
 * @throws TemplateError when the engine has no such kind, or not what its properties ask for
 */
export async function eventSourceOf(mapping: DeclaredMapping, context: EventSourceContext): Promise<EventSource> {
  const service = mapping.sourceArn.split(':')[2] ?? '';
  const open = KINDS[service];
  if (open === undefined) {
    const { stack, logicalId } = mapping.declared;
    throw new TemplateError(
      `${stack.name}/${logicalId}: the local engine has no event source for ${mapping.sourceArn}; it has: ` +
        Object.keys(KINDS).join(', '),
    );
  }
  return await open(mapping, context);
}
