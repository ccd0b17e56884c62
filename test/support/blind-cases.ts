import type { BlindCase } from './blind-case.ts';
import { LISTED_CASES } from './blind-listed-cases.ts';
import { NAME_CASES } from './blind-name-cases.ts';
import { DEMAND_CASES, RESOURCE_CASES } from './blind-node-cases.ts';
import { PORT_CASES } from './blind-port-cases.ts';
import { VOLUME_CASES } from './blind-volume-cases.ts';

/** Every kind of condition, one by one. */
export const BLIND_CASES: readonly BlindCase[] = [
  ...DEMAND_CASES,
  ...RESOURCE_CASES,
  ...LISTED_CASES,
  ...PORT_CASES,
  ...VOLUME_CASES,
  ...NAME_CASES,
];
