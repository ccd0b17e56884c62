import { expect, test } from 'vitest';
import { admissionFindings } from './admission-findings.ts';
import type { TickError } from './report.ts';

const WHY = 'admission webhook "keep.example.com" denied the request: no';
const denied = (subject: string): TickError => ({
  ...{ operation: 'deleteGameServer', subject, kind: 'refused' },
  ...{ code: 'AdmissionDenied', message: WHY },
});
const forbidden: TickError = { operation: 'cordon', subject: 'n1', code: '403', message: 'no right', kind: 'denied' };

test('what webhooks denied is told once, with a few by name and what the first of them said', () => {
  const [finding, ...more] = admissionFindings([
    forbidden,
    ...Array.from({ length: 200 }, (_, at) => denied(`g${at}`)),
  ]);
  expect(more).toEqual([]);
  expect(finding?.reason).toBe('AdmissionDenied');
  expect(finding?.message).toContain('deleteGameServer of g0, deleteGameServer of g1');
  expect(finding?.message).toContain(`and 195 more, which every tick tries again, and nothing waits for: ${WHY}.`);
});

test("what was denied for want of a right is no webhook's doing", () => {
  expect(admissionFindings([forbidden])).toEqual([]);
});
