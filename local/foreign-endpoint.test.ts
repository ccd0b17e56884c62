import { expect, test } from 'vitest';
import { checkEndpoint, ENGINE_ENV, engineMark, foreignEndpoints } from './foreign-endpoint.ts';

test.each(['http://127.0.0.1:8000', 'http://localhost:8000/', 'https://dynamo.example:443/path'])(
  '%s is taken',
  (endpoint) => {
    expect(checkEndpoint('AWS_ENDPOINT_URL_SQS', endpoint)).toMatch(/^https?:/);
  },
);

test.each([
  { endpoint: '127.0.0.1:8000', message: 'AWS_ENDPOINT_URL_SQS is "127.0.0.1:8000"; expected a URL such as' },
  { endpoint: 'localhost:8000', message: 'expected a URL' },
  { endpoint: '', message: 'expected a URL' },
  { endpoint: 'https://sqs.eu-central-1.amazonaws.com', message: 'which is AWS itself' },
  { endpoint: 'https://sqs.cn-north-1.amazonaws.com.cn', message: 'which is AWS itself' },
])('$endpoint is refused: $message', ({ endpoint, message }) => {
  expect(() => checkEndpoint('AWS_ENDPOINT_URL_SQS', endpoint)).toThrow(message);
});

const DYNAMODB = 'http://127.0.0.1:8001';
const SQS = 'http://127.0.0.1:8002';
const SET = { AWS_ENDPOINT_URL_DYNAMODB: DYNAMODB, AWS_ENDPOINT_URL_SQS: SQS };

test.each([
  { what: 'nothing is set', env: {}, used: {}, notUsed: [] },
  { what: 'somebody has set them himself', env: SET, used: { dynamodb: DYNAMODB, sqs: SQS }, notUsed: [] },
  {
    what: 'both are those of an engine',
    env: { ...SET, [ENGINE_ENV]: engineMark([DYNAMODB, SQS]) },
    used: {},
    notUsed: ['AWS_ENDPOINT_URL_DYNAMODB', 'AWS_ENDPOINT_URL_SQS'],
  },
  {
    what: 'one of them was set behind berth.env',
    env: { ...SET, [ENGINE_ENV]: engineMark(['http://127.0.0.1:8003', SQS]) },
    used: { dynamodb: DYNAMODB },
    notUsed: ['AWS_ENDPOINT_URL_SQS'],
  },
  { what: 'the mark alone is left', env: { [ENGINE_ENV]: engineMark([DYNAMODB, SQS]) }, used: {}, notUsed: [] },
])('$what: an engine works with $used', ({ env, used, notUsed }) => {
  expect(foreignEndpoints(env)).toEqual({ ...used, notUsed });
});
