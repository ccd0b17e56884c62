import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** What stands in for the clients of a store, and the permissions that what was sent through them needs. */
export interface Permissions {
  readonly dynamo: DynamoDBClient;
  readonly sqs: SQSClient;
  /** Each once, in order, as `resource action`; an index as `table/index/name`. */
  asked(): string[];
}

/** Clients that send nothing. `answer`: what a command is answered; nothing: an empty answer. */
export function permissionsAsked(answer: (command: unknown) => object | undefined = () => undefined): Permissions {
  const asked = new Set<string>();
  const client = {
    send: async (command: unknown) => {
      for (const permission of permissionsOf(command)) asked.add(permission);
      return answer(command) ?? {};
    },
  };
  return {
    dynamo: client as unknown as DynamoDBClient,
    sqs: client as unknown as SQSClient,
    asked: () => [...asked].toSorted(),
  };
}

/** What `statements` grant, in the words of {@link Permissions.asked}; each has one resource. */
export function permissionsGranted(statements: readonly PolicyStatement[]): string[] {
  return statements
    .flatMap(({ actions, resources }) => actions.map((action) => `${resources.join(' and ')} ${action}`))
    .toSorted();
}

/** Permissions that AWS asks for, by its Service Authorization Reference. A transaction asks action by action, a batch of statements verb by verb. */
function permissionsOf(command: unknown): string[] {
  if (command instanceof GetItemCommand) return [`${command.input.TableName} dynamodb:GetItem`];
  if (command instanceof PutItemCommand) return [`${command.input.TableName} dynamodb:PutItem`];
  if (command instanceof UpdateItemCommand) return [`${command.input.TableName} dynamodb:UpdateItem`];
  if (command instanceof ScanCommand) return [`${command.input.TableName} dynamodb:Scan`];
  if (command instanceof SendMessageCommand) return [`${command.input.QueueUrl} sqs:SendMessage`];
  if (command instanceof QueryCommand) {
    const { TableName, IndexName } = command.input;
    return [`${TableName}${IndexName === undefined ? '' : `/index/${IndexName}`} dynamodb:Query`];
  }
  if (command instanceof BatchGetItemCommand) {
    return Object.keys(command.input.RequestItems ?? {}).map((table) => `${table} dynamodb:BatchGetItem`);
  }
  if (command instanceof BatchExecuteStatementCommand) {
    return (command.input.Statements ?? []).map(({ Statement }) => statementPermission(Statement ?? ''));
  }
  if (command instanceof TransactWriteItemsCommand) {
    return (command.input.TransactItems ?? []).flatMap(({ Put, Update, Delete, ConditionCheck }) => [
      ...(Put ? [`${Put.TableName} dynamodb:PutItem`] : []),
      ...(Update ? [`${Update.TableName} dynamodb:UpdateItem`] : []),
      ...(Delete ? [`${Delete.TableName} dynamodb:DeleteItem`] : []),
      ...(ConditionCheck ? [`${ConditionCheck.TableName} dynamodb:ConditionCheckItem`] : []),
    ]);
  }
  throw new Error(`no permission is known for ${String(command)}`);
}

function statementPermission(statement: string): string {
  const [, table] = /^DELETE FROM "([^"]+)" WHERE /.exec(statement) ?? [];
  if (table === undefined) throw new Error(`no permission is known for the statement ${statement}`);
  return `${table} dynamodb:PartiQLDelete`;
}
