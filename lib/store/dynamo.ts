import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import {
  unmarshall as fromItem,
  type marshallOptions,
  type NativeAttributeValue,
  marshall as toItem,
} from '@aws-sdk/util-dynamodb';
import { requestHandler } from '../aws/requests.ts';

/** DynamoDB's client with the time-outs that a function of 30 seconds can afford. */
export function dynamoClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 3,
    requestHandler,
    ...config,
  });
}

export type Item = Record<string, NativeAttributeValue>;

const OPTIONS: marshallOptions = {
  removeUndefinedValues: true,
  // `marshall` takes an object for one of a class by what it has under `constructor`, which may be a resource's name.
  convertClassInstanceToMap: true,
};

/** Plain values as attribute values. Throws on numbers that are not safe integers, which no item of ours holds. */
export function marshall(values: object) {
  return toItem(values as Item, OPTIONS);
}

/**
 * Attribute values as plain values. A number past the safe integers comes back near what it is, which no schema of ours
 * takes: the SDK throws at some of them (`1E+30`), and one such item would stop whatever is read together with it.
 */
export function unmarshall(item: Parameters<typeof fromItem>[0]): Item {
  return fromItem(item, { wrapNumbers: Number });
}
