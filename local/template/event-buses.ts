import * as z from 'zod/mini';
import type { Resources } from './scope.ts';

const properties = z.strictObject({ Name: z.string() });

const IGNORED = ['DeadLetterConfig', 'Description', 'KmsKeyIdentifier', 'LogConfig', 'Policy', 'Tags'];

/** Defines the event buses of the template: all are the one that the engine has, which shows by their name what was meant. */
export function defineEventBuses(resources: Resources): void {
  const { region, account } = resources.place;
  for (const declared of resources.ofType('AWS::Events::EventBus')) {
    const { Name } = resources.properties(declared, properties, IGNORED);
    const attributes = { Name, Arn: `arn:aws:events:${region}:${account}:event-bus/${Name}` };
    resources.define(declared, { ref: Name, attributes });
  }
}
