import { Killed } from '../../cases/scaler/faults.ts';
import type { WorldCall } from '../../cases/scaler/world.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import { happen } from './happen.ts';
import type { LeaseBed } from './lease-bed.ts';
import type { Fault } from './lease-histories.ts';
import { bindLate } from './run-history.ts';

/** Calls by which somebody looks: whatever happens before one of them is seen before anything is done about it. */
const LOOKS: readonly WorldCall['operation'][] = ['snapshot', 'listGameServers', 'readNode'];

/** Whether `fault` is for the call of that number: what others do comes just before the next call that it matters to. */
export function strikes({ kind, call: from }: Fault, number: number, { operation }: WorldCall): boolean {
  if (kind === 'race') return number >= from && operation === 'deleteGameServer';
  if (kind === 'bind' || kind === 'operator') return number >= from && LOOKS.includes(operation);
  return number === from;
}

/** Lets `fault` happen to a call that `act` carries out; `late`: when nobody waits for it any more. */
export async function strike<T>(
  fault: Fault | undefined,
  call: WorldCall,
  bed: LeaseBed,
  { act, late }: { readonly act: () => T; readonly late: () => T },
): Promise<Awaited<T>> {
  if (fault === undefined) return await act();
  switch (fault.kind) {
    case 'asleep':
    case 'in-flight':
      return await act();
    case 'race':
      happen(bed, { kind: 'allocate', at: fault.call });
      return await act();
    case 'bind':
      bindLate(bed, call, fault.call);
      return await act();
    case 'operator':
      operate(bed, fault.call);
      return await act();
    case 'killed-before':
      throw new Killed(call.operation);
    case 'killed-after':
      await refusable(act);
      throw new Killed(call.operation);
    case 'lost':
      await refusable(act);
      throw new CallError('unknown', 'Timeout', 'the answer was lost');
    case 'late':
      bed.late.push(late);
      throw new CallError('unknown', 'Timeout', 'no answer yet');
    default:
      throw new CallError(fault.kind, fault.kind, `${call.operation}: ${fault.kind}`);
  }
}

/** Somebody cordons a node, or uncordons one. */
function operate(bed: LeaseBed, at: number): void {
  happen(bed, { kind: at % 2 === 0 ? 'admin-cordon' : 'admin-uncordon', at });
}

/** Nobody hears that it was refused, either. */
async function refusable(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
  }
}
