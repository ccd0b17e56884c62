/**
 * Variable by which an engine knows another's endpoints: the URLs that an engine has given to its clients, with commas between.
 * Whoever has taken in berth.env means to be a client of that engine. A second one that worked on its tables and took from
 * its queues would spoil both.
 */
export const ENGINE_ENV = 'BERTH_ENGINE';

/** Variables by which the services that run already are named. */
export const ENDPOINT_ENV = { dynamodb: 'AWS_ENDPOINT_URL_DYNAMODB', sqs: 'AWS_ENDPOINT_URL_SQS' } as const;

type Env = Readonly<Record<string, string | undefined>>;

/** URLs of services that run already. What is left out, an engine starts by itself. */
export interface ForeignEndpoints {
  readonly dynamodb?: string | undefined;
  readonly sqs?: string | undefined;
}

/** The value of `ENGINE_ENV` for clients of an engine that has given them these endpoints. */
export function engineMark(endpoints: readonly string[]): string {
  return endpoints.join(',');
}

/** The services that `env` names, but for those of an engine; `notUsed` are the variables that name such. */
export function foreignEndpoints(env: Env): ForeignEndpoints & { readonly notUsed: readonly string[] } {
  const ours = new Set(env[ENGINE_ENV]?.split(','));
  const foreign = (variable: string) => (ours.has(env[variable] ?? '') ? undefined : env[variable]);
  return {
    dynamodb: foreign(ENDPOINT_ENV.dynamodb),
    sqs: foreign(ENDPOINT_ENV.sqs),
    notUsed: Object.values(ENDPOINT_ENV).filter((variable) => env[variable] !== foreign(variable)),
  };
}

/**
 * The URL of a service that somebody else started, if it can be one.
 *
 * @throws Error naming `variable` when it is no URL, or is AWS itself: there one deploys, and pays
 */
export function checkEndpoint(variable: string, endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error(`${variable} is ${JSON.stringify(endpoint)}; expected a URL such as http://127.0.0.1:8000`);
  }
  if (/(^|\.)amazonaws\.com(\.cn)?$/.test(url.hostname)) {
    throw new Error(
      `${variable} is ${endpoint}, which is AWS itself; the local engine works with services on your machine. ` +
        'Unset it, or deploy with "npx cdk deploy"',
    );
  }
  return url.href.replace(/\/$/, '');
}
