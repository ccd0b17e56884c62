import { listed } from '../../listed.ts';
import { SCALER } from '../../settings.ts';
import { ADMISSION_DENIED } from '../call-error.ts';
import type { Finding } from '../plan/findings.ts';
import type { TickError } from './report.ts';

/**
 * What is to be told of deeds that a webhook or a policy of the cluster denied, in one finding however many there are: each was
 * left out, and all others were done.
 */
export function admissionFindings(errors: readonly TickError[]): Finding[] {
  const denied = errors.filter(({ code }) => code === ADMISSION_DENIED);
  const [first] = denied;
  if (first === undefined) return [];
  const named = denied.map(({ operation, subject }) => `${operation} of ${subject}`);
  const deeds = listed(named, SCALER.namesInMessage);
  const message = `a webhook or a policy of the cluster denied ${deeds}, which every tick tries again, and nothing waits for: ${first.message}. Mend it, or have it let the node scaler do that`;
  return [{ reason: 'AdmissionDenied', message }];
}
