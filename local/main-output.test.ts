import { expect, test } from 'vitest';
import { summary } from './main-output.ts';

const STARTED = {
  endpoints: { dynamodb: 'http://127.0.0.1:1', sqs: 'http://127.0.0.1:2' },
  queues: new Map(),
  eventSources: { all: [] },
  dataDir: undefined,
  foreign: {},
  env: { NAME: 'value' },
};
const IN_MEMORY = 'in memory, gone at the end (keep it with --data DIR)';
const DYNAMODB = 'http://127.0.0.1:8000';
const SQS = 'http://127.0.0.1:9324';

test.each([
  { with: {}, state: IN_MEMORY },
  { with: { dataDir: '/data' }, state: '/data' },
  {
    with: { foreign: { dynamodb: DYNAMODB, sqs: SQS } },
    state: `tables at ${DYNAMODB} (AWS_ENDPOINT_URL_DYNAMODB); queues at ${SQS} (AWS_ENDPOINT_URL_SQS)`,
  },
  {
    with: { foreign: { dynamodb: DYNAMODB } },
    state: `tables at ${DYNAMODB} (AWS_ENDPOINT_URL_DYNAMODB); queues ${IN_MEMORY}`,
  },
  {
    with: { dataDir: '/data', foreign: { sqs: SQS } },
    state: `tables /data; queues at ${SQS} (AWS_ENDPOINT_URL_SQS)`,
  },
])('the state of an engine with $with is said to be $state', ({ with: options, state }) => {
  expect(summary({ ...STARTED, ...options }, {}).split('\n')).toContain(`State      ${state}`);
});
