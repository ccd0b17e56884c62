import { createHash } from 'node:crypto';
import type { _Record, AttributeValue } from '@aws-sdk/client-dynamodb-streams';
import type { EpochMs } from '../../lib/time.ts';

type Attributes = Readonly<Record<string, unknown>>;

/** A change as Lambda shows it to a function: attributes in DynamoDB JSON, binary in base64. */
export interface StreamRecord {
  readonly eventID: string;
  readonly eventName: 'INSERT' | 'MODIFY' | 'REMOVE';
  readonly eventVersion: string;
  readonly eventSource: 'aws:dynamodb';
  readonly awsRegion: string;
  readonly dynamodb: {
    /** Seconds since 1970. */
    readonly ApproximateCreationDateTime: number;
    readonly Keys: Attributes;
    readonly NewImage?: Attributes | undefined;
    readonly OldImage?: Attributes | undefined;
    readonly SequenceNumber: string;
    readonly SizeBytes: number;
    readonly StreamViewType: string;
  };
  readonly eventSourceARN: string;
  /** Of what the service itself deleted, by TTL. */
  readonly userIdentity?: { readonly type: string; readonly principalId: string } | undefined;
}

export const TTL_IDENTITY = { type: 'Service', principalId: 'dynamodb.amazonaws.com' } as const;

export function streamRecord(record: _Record, arn: string, region: string): StreamRecord {
  const { dynamodb = {}, userIdentity } = record;
  const created = dynamodb.ApproximateCreationDateTime ?? new Date(0);
  return {
    // Unique over all streams, while those of a local DynamoDB count from one in each.
    eventID: createHash('md5').update(`${arn} ${record.eventID}`).digest('hex'),
    eventName: record.eventName ?? 'MODIFY',
    eventVersion: record.eventVersion ?? '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion: region,
    dynamodb: {
      ApproximateCreationDateTime: Math.floor(created.getTime() / 1000),
      Keys: image(dynamodb.Keys) ?? {},
      NewImage: image(dynamodb.NewImage),
      OldImage: image(dynamodb.OldImage),
      SequenceNumber: dynamodb.SequenceNumber ?? '',
      SizeBytes: dynamodb.SizeBytes ?? 0,
      StreamViewType: dynamodb.StreamViewType ?? '',
    },
    eventSourceARN: arn,
    userIdentity: userIdentity && {
      type: userIdentity.Type ?? '',
      principalId: userIdentity.PrincipalId ?? '',
    },
  };
}

export function createdAt(record: StreamRecord): EpochMs {
  return (record.dynamodb.ApproximateCreationDateTime * 1000) as EpochMs;
}

/** The lane of a record: the same for the same partition key. */
export function laneOf(record: StreamRecord, partitionKey: string, lanes: number): number {
  if (lanes === 1) return 0;
  const key = JSON.stringify(record.dynamodb.Keys[partitionKey]);
  return createHash('md5').update(key).digest().readUInt32BE() % lanes;
}

function image(attributes: Record<string, AttributeValue> | undefined): Attributes | undefined {
  if (attributes === undefined) return undefined;
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, json(value)]));
}

function json(value: AttributeValue): unknown {
  if (value.B !== undefined) return { B: base64(value.B) };
  if (value.BS !== undefined) return { BS: value.BS.map(base64) };
  if (value.M !== undefined) return { M: image(value.M) };
  if (value.L !== undefined) return { L: value.L.map(json) };
  return value;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
