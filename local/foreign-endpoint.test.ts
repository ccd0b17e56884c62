import { expect, test } from 'vitest';
import { checkEndpoint } from './foreign-endpoint.ts';

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
