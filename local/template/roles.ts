import { type Resources, withoutHash } from './scope.ts';

/** Defines the roles of the template: nobody takes them on here, but others refer to them. */
export function defineRoles(resources: Resources): void {
  for (const declared of resources.ofType('AWS::IAM::Role')) {
    const name = `${declared.stack.name}-${withoutHash(declared.logicalId)}`;
    const attributes = { Arn: `arn:aws:iam::${resources.place.account}:role/${name}` };
    resources.define(declared, { ref: name, attributes });
  }
}
