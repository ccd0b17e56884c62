import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { type Declared, type Resources, withoutHash } from './scope.ts';

/** A table as the template declares it. */
export interface DeclaredTable {
  readonly declared: Declared;
  readonly name: string;
  readonly create: CreateTableCommandInput;
  /** Attribute with the time after which an item may go. */
  readonly ttlAttribute?: string | undefined;
}

const keySchema = z.array(z.strictObject({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));

const indexes = z.array(
  z.object({
    IndexName: z.string(),
    KeySchema: keySchema,
    Projection: z.strictObject({
      ProjectionType: z.enum(['ALL', 'KEYS_ONLY', 'INCLUDE']),
      NonKeyAttributes: z.optional(z.array(z.string())),
    }),
  }),
);

const properties = z.strictObject({
  TableName: z.optional(z.string()),
  KeySchema: keySchema,
  AttributeDefinitions: z.array(z.strictObject({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) })),
  GlobalSecondaryIndexes: z.optional(indexes),
  LocalSecondaryIndexes: z.optional(indexes),
  StreamSpecification: z.optional(
    z.object({ StreamViewType: z.enum(['KEYS_ONLY', 'NEW_IMAGE', 'OLD_IMAGE', 'NEW_AND_OLD_IMAGES']) }),
  ),
  TimeToLiveSpecification: z.optional(z.strictObject({ AttributeName: z.string(), Enabled: z.boolean() })),
});

/** Backups, protection, encryption, throughput, replicas: nothing of it shows on one machine. */
const IGNORED = [
  'BillingMode',
  'ContributorInsightsSpecification',
  'DeletionProtectionEnabled',
  'KinesisStreamSpecification',
  'OnDemandThroughput',
  'PointInTimeRecoverySpecification',
  'ProvisionedThroughput',
  'Replicas',
  'ResourcePolicy',
  'SSESpecification',
  'TableClass',
  'Tags',
  'WarmThroughput',
  'WriteOnDemandThroughputSettings',
  'WriteProvisionedThroughputSettings',
];

/** The tables of the template. Defines their `Ref` and `Arn`; that of the stream is known once they are created. */
export function declaredTables(resources: Resources): DeclaredTable[] {
  return resources.ofType('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable').map((declared) => {
    const it = resources.properties(declared, properties, IGNORED);
    const name = it.TableName ?? `${declared.stack.name}-${withoutHash(declared.logicalId)}`;
    const { region, account } = resources.place;
    resources.define(declared, {
      ref: name,
      attributes: { Arn: `arn:aws:dynamodb:${region}:${account}:table/${name}` },
    });
    return {
      declared,
      name,
      create: {
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: it.KeySchema,
        AttributeDefinitions: it.AttributeDefinitions,
        GlobalSecondaryIndexes: it.GlobalSecondaryIndexes,
        LocalSecondaryIndexes: it.LocalSecondaryIndexes,
        StreamSpecification: it.StreamSpecification && { StreamEnabled: true, ...it.StreamSpecification },
      },
      ttlAttribute: it.TimeToLiveSpecification?.Enabled ? it.TimeToLiveSpecification.AttributeName : undefined,
    };
  });
}
