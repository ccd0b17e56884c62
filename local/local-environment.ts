import { devNull } from 'node:os';
import type { FunctionDefinition } from './functions/execution-environment.ts';

/** Where the two services are. */
export interface Endpoints {
  readonly dynamodb: string;
  readonly sqs: string;
}

/** The services check none, but a client must have some; the cluster of `npm start` lets in who signs with these. */
export const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' } as const;

/** The discard port, where nothing listens: a service of AWS that is not here is not looked for at AWS. */
const NOWHERE = 'http://127.0.0.1:9';

/** Environment variables by which any AWS client finds the engine, and the outside where there is one, instead of AWS. */
export function clientEnvironment(
  { dynamodb, sqs, outside }: Endpoints & { readonly outside?: Outside | undefined },
  region: string,
): Record<string, string> {
  return {
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
    AWS_ENDPOINT_URL_SQS: sqs,
    AWS_ENDPOINT_URL_EKS: outside?.eks ?? NOWHERE,
    AWS_ENDPOINT_URL_AUTO_SCALING: outside?.autoScaling ?? NOWHERE,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    // The SDK warns of the Node line of the development machine, a client once, a function at every cold start.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  };
}

/** Simulated services of AWS that nodes come from, and that name the clusters they are in. */
export interface Outside {
  readonly eks: string;
  readonly autoScaling: string;
}

/** Where a function finds the services: those of a client, the event bus, and the outside, where there is one. */
export interface FunctionEndpoints extends Endpoints {
  readonly eventBus: string;
  readonly outside?: Outside | undefined;
}

/** What a function finds in its environment: what Lambda sets, its own variables, and the way to the engine. */
export function functionEnvironment(
  definition: FunctionDefinition,
  endpoints: FunctionEndpoints,
  region: string,
): Record<string, string> {
  return {
    _HANDLER: definition.handler,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs',
    AWS_LAMBDA_FUNCTION_NAME: definition.functionName,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(definition.memoryMiB),
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${definition.functionName}`,
    AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    LANG: 'en_US.UTF-8',
    ...definition.environment,
    ...clientEnvironment(endpoints, region),
    AWS_ENDPOINT_URL: NOWHERE,
    AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.eventBus,
    // The developer's own profile is not there on Lambda either.
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
  };
}
