import { type DeclaredMapping, declaredMappings } from '../template/event-source-mappings.ts';
import { declaredSchedules } from '../template/schedules.ts';
import { TemplateError } from '../template/scope.ts';
import type { EventSource, EventSourceContext } from './event-source.ts';
import { ScheduleEventSource } from './schedule.ts';
import { SqsEventSource } from './sqs.ts';
import { StreamEventSource } from './stream.ts';

type Open = (mapping: DeclaredMapping, context: EventSourceContext) => EventSource | Promise<EventSource>;

/** Kinds of source by the service in their ARN. */
const KINDS: Readonly<Record<string, Open>> = {
  dynamodb: (mapping, context) => StreamEventSource.open(mapping, context),
  sqs: (mapping, context) => new SqsEventSource(mapping, context),
};

/** The sources that mappings declare, those that are enabled, paused. @throws TemplateError when the engine has not what one asks for */
export async function mappedSources(context: EventSourceContext): Promise<EventSource[]> {
  const mappings = declaredMappings(context.resources).filter((mapping) => mapping.enabled);
  return await Promise.all(mappings.map((mapping) => eventSourceOf(mapping, context)));
}

/** The schedules that are enabled, paused. @throws TemplateError */
export function scheduledSources(context: EventSourceContext): EventSource[] {
  const schedules = declaredSchedules(context.resources, context.scheduleClock());
  return schedules.filter(({ enabled }) => enabled).map((schedule) => new ScheduleEventSource(schedule, context));
}

async function eventSourceOf(mapping: DeclaredMapping, context: EventSourceContext): Promise<EventSource> {
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
