import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * Accepts one finding of cdk-nag on one construct, with the reason. The list of all of them is pinned by
 * `nag.test.ts`.
 */
export function acknowledge(construct: IConstruct, finding: { readonly id: string; readonly reason: string }): void {
  Validations.of(construct).acknowledge(finding);
}
