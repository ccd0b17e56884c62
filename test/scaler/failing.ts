import type { Intercept, WorldCall } from '../../cases/scaler/world.ts';
import { CallError, type CallErrorKind } from '../../lib/scaler/call-error.ts';
import { ScalerBed } from './bed.ts';

/** Ticks of which one kind of call fails. */

export type Operation = WorldCall['operation'];

export function bedWith(nodes: number, replicas: number, kind: 'eks' | 'custom' = 'eks'): ScalerBed {
  const bed = new ScalerBed(kind, replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

/** Answers calls of `operation`, from the `from`th on, with an error of `kind`, and keeps what was asked for. */
export function failing(operation: Operation, kind: CallErrorKind, from = 1) {
  const asked: string[] = [];
  let count = 0;
  const intercept: Intercept = async (call, act) => {
    asked.push(`${call.operation} ${call.subject}`);
    if (call.operation !== operation || ++count < from) return act();
    throw new CallError(kind, kind, `${operation} failed`);
  };
  const times = (prefix: string) => asked.filter((one) => one.startsWith(prefix)).length;
  return { intercept, times, asked };
}

/** Nothing fails. */
export const watching = () => failing('tell', 'unknown');

export async function degradedAfter(bed: ScalerBed, intercept: Intercept) {
  const outcome = await bed.tick(intercept);
  const condition = outcome?.status.conditions.find(({ type }) => type === 'Degraded');
  return { reason: condition?.reason, message: condition?.message, outcome };
}
