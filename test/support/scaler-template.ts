import { expect } from 'vitest';
import type { BerthAppProps } from '../../infra/berth-app.ts';
import { byType, synthesized, type TemplateJson } from './synthesized.ts';

/** What the function takes on for the cluster of another account. */
export const ROLE = 'arn:aws:iam::111122223333:role/Scaler';
export const CLUSTERS = [
  { name: 'game', region: 'eu-central-1', autoScalingGroups: ['metal', 'more-metal'] },
  { name: 'test', region: 'eu-central-1' },
  { name: 'far', region: 'us-east-1' },
  { name: 'foreign', region: 'eu-west-1', roleArn: ROLE, autoScalingGroups: ['theirs'] },
];
/** As the function is told of them. */
export const CLUSTERS_JSON = JSON.stringify(
  CLUSTERS.map((one) => ({ ...one, autoScalingGroups: one.autoScalingGroups ?? [] })),
);

/** The stack of the functions, in which the node scaler looks after `CLUSTERS` unless `context` says otherwise. */
export class ScalerTemplate {
  readonly json: TemplateJson;

  constructor(context: BerthAppProps['context'] = { clusters: CLUSTERS }) {
    this.json = synthesized(context).functions;
  }

  /** The one resource of `type` whose logical id begins with `begins`. */
  single(type: string, begins: string) {
    const found = byType(this.json, type).filter(([id]) => id.startsWith(begins));
    expect(found).toHaveLength(1);
    const [[id, { Properties }] = ['', { Properties: {} }]] = found;
    return { id, properties: Properties as Record<string, never> };
  }

  fn() {
    return this.single('AWS::Lambda::Function', 'NodeScaler');
  }

  /** Statements of the function's role by their Sid. */
  statements(): Record<string, object> {
    const { Policies } = this.single('AWS::IAM::Role', 'NodeScalerRole').properties as unknown as {
      Policies: [{ PolicyDocument: { Statement: { Sid: string }[] } }];
    };
    return Object.fromEntries(Policies[0].PolicyDocument.Statement.map(({ Sid, ...rest }) => [Sid, rest]));
  }
}
