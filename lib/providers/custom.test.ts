import { createServer, type Server } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type CertificateWish, type HookCertificates, hookCertificates } from '../../cases/scaler/hook-certificates.ts';
import { RecordedAws } from '../../cases/scaler/recorded-aws.ts';
import { type HookAnswer, type RecordedHook, startRecordedHook } from '../../cases/scaler/recorded-hook.ts';
import { cronTimes } from '../cron/croner.ts';
import type { Provider } from '../scaler/ports.ts';
import { readSpec } from '../scaler/spec/spec.ts';
import { PROVIDER_CALLS } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import type { ProviderContext } from './context.ts';
import { providersOf } from './providers.ts';

const NOW = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
const UNIMPLEMENTED = { code: 12, details: 'no such method' };

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function hookOf(answers: Record<string, HookAnswer> = {}, wish: CertificateWish = {}) {
  const certificates = await hookCertificates(wish);
  const hook = await startRecordedHook(certificates, answers);
  open.push(hook);
  return { hook, certificates };
}

interface Wish {
  readonly grpcHook?: object;
  readonly config?: object;
  readonly signal?: AbortSignal;
  readonly resolveService?: ProviderContext['resolveService'];
}

function provide({ signal, resolveService = async () => undefined }: Wish = {}) {
  const { eks, autoScaling } = new RecordedAws();
  const context = { cluster: 'prod', eks, autoScaling, resolveService, clock: () => NOW };
  return providersOf({ ...context, ...(signal === undefined ? {} : { signal }) });
}

function specOf({ grpcHook = {}, config = {} }: Wish, ca: string) {
  const caBundle = Buffer.from(ca).toString('base64');
  const read = readSpec({ replicas: 1, provider: 'custom', config, grpcHook: { caBundle, ...grpcHook } }, cronTimes);
  if (!('spec' in read)) throw new Error(JSON.stringify(read.problems));
  return read.spec;
}

function providerOf(hook: Pick<RecordedHook, 'port'>, { ca }: Pick<HookCertificates, 'ca'>, wish: Wish = {}): Provider {
  const address = `127.0.0.1:${hook.port}`;
  return provide(wish)('game', specOf({ grpcHook: { address }, ...wish }, ca));
}

it('sends the config with every call, at the paths of a service without a package', async () => {
  const { hook, certificates } = await hookOf();
  const provider = providerOf(hook, certificates, { config: { nodepool: 'fast' } });

  expect(await provider.validate()).toEqual({ problems: [], warnings: [] });
  await provider.increase({ by: 3 });
  await provider.endMachine({ node: 'n1' });

  const config = { provider: 'custom', values: { nodepool: 'fast' } };
  const ordered = { ...config, values: { ...config.values, requestId: 'prod/game/2026-01-15T12:00:00.000Z' } };
  expect(hook.calls.map(({ path, message }) => [path, message])).toEqual([
    ['/GameServerNode/Validate', config],
    ['/GameServerNode/Size', config],
    ['/GameServerNode/Increase', { increase_size: 3, config: ordered }],
    ['/GameServerNode/Delete', { names: ['n1'], config }],
  ]);
  expect(hook.calls.map(({ seconds }) => seconds)).toEqual([5, 5, 30, 30]);
});

it('can be asked neither for its size nor for where machines are', async () => {
  const provider = provide()(
    'game',
    specOf({ grpcHook: { address: 'hook.example:1' } }, (await hookCertificates()).ca),
  );
  expect(provider.capabilities).toEqual({ readsSize: false, changesSize: true });
  expect(await provider.describe()).toBeUndefined();
  expect(await provider.inspect()).toBeUndefined();
  expect(await provider.locate(['i-1'])).toEqual(new Map());
});

it('refuses to order none or less, and asks for nothing then', async () => {
  const { hook, certificates } = await hookOf();
  for (const by of [0, -1, 1.5]) {
    await expect(providerOf(hook, certificates).increase({ by })).rejects.toMatchObject({
      kind: 'refused',
      code: 'FieldValueInvalid',
    });
  }
  expect(hook.calls).toEqual([]);
});

it('says which values the hook finds wrong', async () => {
  const details = [
    { type: 'FieldValueNotFound', message: 'no such pool', field: 'nodepool' },
    { type: 'FieldValueInvalid', message: 'no', field: 'config.zone' },
    { type: 'FieldValueForbidden', message: 'not by you', field: '' },
    { type: 'FieldValueInvalid', message: 'too many', field: 'spec.replicas' },
  ];
  const { hook, certificates } = await hookOf({ Validate: { reply: { is_valid: false, details } } });
  expect(await providerOf(hook, certificates).validate()).toEqual({
    problems: [
      { path: 'spec.config.nodepool', message: 'FieldValueNotFound: no such pool' },
      { path: 'spec.config.zone', message: 'FieldValueInvalid: no' },
      { path: 'spec.config', message: 'FieldValueForbidden: not by you' },
      { path: 'spec.replicas', message: 'FieldValueInvalid: too many' },
    ],
    warnings: [],
  });
});

it('has a problem with a config that is not valid for no reason', async () => {
  const { hook, certificates } = await hookOf({ Validate: { reply: { is_valid: false } } });
  const { problems } = await providerOf(hook, certificates).validate();
  expect(problems).toEqual([{ path: 'spec.config', message: expect.stringContaining('not why') }]);
});

it('passes on what the hook says of a config that is valid, and of machines that do not run', async () => {
  const details = [{ type: 'FieldValueInvalid', message: 'is old', field: 'image' }];
  const { hook, certificates } = await hookOf({
    Validate: { reply: { is_valid: true, details } },
    Size: { reply: { target: 5, ready: 3 } },
  });
  expect(await providerOf(hook, certificates).validate()).toEqual({
    problems: [],
    warnings: ['spec.config.image: is old', expect.stringContaining('3 of 5')],
  });
});

it('passes on a few of the many things that a hook says, each as it is where it is about no value', async () => {
  const many = Array.from({ length: 300 }, (_, at) => ({ type: 'T', message: `note ${at}`, field: '' }));
  const { hook, certificates } = await hookOf({ Validate: { reply: { is_valid: true, details: many } } });
  const { warnings } = await providerOf(hook, certificates).validate();
  expect(warnings[0]).toBe('note 0');
  expect(warnings).not.toContain('note 299');
});

it('asks a hook that has no Size only once, whichever pool asks', async () => {
  const { hook, certificates } = await hookOf({ Size: UNIMPLEMENTED });
  const provider = provide();
  const spec = specOf({ grpcHook: { address: `127.0.0.1:${hook.port}` } }, certificates.ca);

  for (const object of ['a', 'b', 'c']) {
    expect(await provider(object, spec).validate()).toEqual({ problems: [], warnings: [] });
  }

  expect(hook.calls.filter(({ path }) => path.endsWith('Size'))).toHaveLength(1);
});

it('goes on where the size cannot be read', async () => {
  const { hook, certificates } = await hookOf({ Size: { code: 13, details: 'broken' } });
  const { problems, warnings } = await providerOf(hook, certificates).validate();
  expect([problems, warnings]).toEqual([[], [expect.stringContaining('INTERNAL: broken')]]);
});

const OUTCOMES = [
  [1, 'CANCELLED', 'unknown', 'unknown'],
  [2, 'UNKNOWN', 'unknown', 'unknown'],
  [3, 'INVALID_ARGUMENT', 'refused', 'refused'],
  [4, 'DEADLINE_EXCEEDED', 'unknown', 'unknown'],
  [5, 'NOT_FOUND', 'refused', 'refused'],
  [6, 'ALREADY_EXISTS', 'refused', 'refused'],
  [7, 'PERMISSION_DENIED', 'denied', 'denied'],
  [8, 'RESOURCE_EXHAUSTED', 'refused', 'refused'],
  [9, 'FAILED_PRECONDITION', 'refused', 'refused'],
  [10, 'ABORTED', 'conflict', 'conflict'],
  [11, 'OUT_OF_RANGE', 'refused', 'refused'],
  [12, 'UNIMPLEMENTED', 'refused', 'refused'],
  [13, 'INTERNAL', 'unknown', 'refused'],
  [14, 'UNAVAILABLE', 'unknown', 'unknown'],
  [15, 'DATA_LOSS', 'unknown', 'unknown'],
  [16, 'UNAUTHENTICATED', 'denied', 'denied'],
] as const;

it.each(OUTCOMES)('takes status %i, %s, for %s of Increase and %s of Delete', async (code, name, increase, end) => {
  const answer = { code, details: 'why not' };
  const { hook, certificates } = await hookOf({ Increase: answer, Delete: answer });
  const provider = providerOf(hook, certificates);
  const saying = { name: 'CallError', code: name };

  await expect(provider.increase({ by: 1 })).rejects.toMatchObject({ ...saying, kind: increase });
  await expect(provider.endMachine({ node: 'n' })).rejects.toMatchObject({ ...saying, kind: end });
});

it('does not know what has become of a call whose reply is too large', async () => {
  const details = [{ type: 'x', message: 'x'.repeat(PROVIDER_CALLS.hookReplyBytes), field: '' }];
  const { hook, certificates } = await hookOf({ Validate: { reply: { is_valid: true, details } } });
  await expect(providerOf(hook, certificates).validate()).rejects.toMatchObject({
    kind: 'unknown',
    message: expect.stringContaining('larger'),
  });
});

it('does not know what has become of a call that is given up', async () => {
  const { hook, certificates } = await hookOf({ Increase: { silent: true } });
  const giveUp = new AbortController();
  const order = providerOf(hook, certificates, { signal: giveUp.signal }).increase({ by: 1 });
  await expect.poll(() => hook.calls.length).toBe(1);

  giveUp.abort();

  await expect(order).rejects.toMatchObject({ kind: 'unknown', code: 'CANCELLED' });
});

it('does not know what has become of a call whose hook dies over it', async () => {
  const { hook, certificates } = await hookOf({ Delete: { silent: true } });
  const end = providerOf(hook, certificates).endMachine({ node: 'n' });
  await Promise.all([
    expect(end).rejects.toMatchObject({ kind: 'unknown' }),
    expect
      .poll(() => hook.calls.length)
      .toBe(1)
      .then(() => hook.close()),
  ]);
});

it('trusts no certificate of somebody else', async () => {
  const { hook } = await hookOf();
  await expect(providerOf(hook, await hookCertificates()).validate()).rejects.toMatchObject({
    kind: 'unknown',
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/none of those in spec\.grpcHook\.caBundle/),
  });
  expect(hook.calls).toEqual([]);
});

it('trusts no certificate for another host', async () => {
  const { hook, certificates } = await hookOf({}, { hosts: ['other.example'] });
  await expect(providerOf(hook, certificates).validate()).rejects.toMatchObject({
    message: expect.stringMatching(/certificate is not for 127\.0\.0\.1: make one/),
  });
  expect(hook.calls).toEqual([]);
});

it('trusts no certificate that has expired', async () => {
  const { hook, certificates } = await hookOf({}, { hours: -1 });
  await expect(providerOf(hook, certificates).validate()).rejects.toMatchObject({
    message: expect.stringMatching(/has expired: renew it/),
  });
});

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('says of a hook without TLS, and of one that is not there, what to do', async () => {
  const plain = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.resume();
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  const port = portOf(plain);
  const certificates = await hookCertificates();
  try {
    await expect(providerOf({ port }, certificates).validate()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('does not speak TLS'),
    });
  } finally {
    await new Promise((resolve) => plain.close(resolve));
  }
  await expect(providerOf({ port }, certificates).validate()).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/127\.0\.0\.1:\d+ did not answer Validate: nobody listens there/),
  });
});

it('finds a service by its address outside, and checks the name that it has inside', async () => {
  const { hook, certificates } = await hookOf({}, { hosts: ['hook.tools.svc'] });
  const asked: unknown[] = [];
  const resolveService = async (service: unknown) => {
    asked.push(service);
    return '127.0.0.1';
  };
  const service = { name: 'hook', namespace: 'tools', port: hook.port };
  const provider = provide({ resolveService })('game', specOf({ grpcHook: { service } }, certificates.ca));

  await expect(provider.validate()).resolves.toMatchObject({ problems: [] });
  await provider.increase({ by: 1 });

  expect(asked).toEqual([service]);
});

it('trusts no service with the certificate of another', async () => {
  const { hook, certificates } = await hookOf({}, { hosts: ['127.0.0.1', 'other.tools.svc'] });
  const service = { name: 'hook', namespace: 'tools', port: hook.port };
  const provide127 = provide({ resolveService: async () => '127.0.0.1' });
  await expect(provide127('game', specOf({ grpcHook: { service } }, certificates.ca)).validate()).rejects.toMatchObject(
    {
      message: expect.stringContaining('not for hook.tools.svc'),
    },
  );
});

it('has a problem with a service without an address, with a port that there is not, and with no certificate', async () => {
  const { ca } = await hookCertificates();
  const problems = async (grpcHook: object, pem = ca) => {
    const { problems: found } = await provide()('game', specOf({ grpcHook }, pem)).validate();
    return found.map(({ path, message }) => `${path}: ${message}`);
  };
  expect(await problems({ service: { name: 'hook', namespace: 'tools' } })).toEqual([
    expect.stringMatching(/^spec\.grpcHook\.service: service tools\/hook has no address .* port 443/),
  ]);
  expect(await problems({ address: 'hook.example:0' })).toEqual([expect.stringMatching(/^spec\.grpcHook\.address: /)]);
  // Letters of a name, and no URL has them: what is thrown of it would be no answer of a hook.
  for (const host of ['999.999.999.999', 'host.1', 'xn--', '1.2.3.4.5'])
    expect(await problems({ address: `${host}:443` })).toEqual([
      expect.stringMatching(`^spec\\.grpcHook\\.address: expected a name or an address before the port, got "${host}"`),
    ]);
  const broken = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  for (const pem of ['-----BEGIN CERTIFICATE-----\n', broken, `${ca}\n${broken}`]) {
    expect(await problems({ address: 'hook.example:1' }, pem)).toEqual([
      expect.stringMatching(/^spec\.grpcHook\.caBundle: /),
    ]);
  }
});

it('does nothing on minikube, and says so', async () => {
  const read = readSpec({ replicas: 1, provider: 'minikube' }, cronTimes);
  if (!('spec' in read)) throw new Error('no spec');
  const provider = provide()('game', read.spec);

  expect(provider.capabilities).toEqual({ readsSize: false, changesSize: false });
  expect(await provider.validate()).toEqual({ problems: [], warnings: [] });
  expect([await provider.describe(), await provider.inspect()]).toEqual([undefined, undefined]);
  expect(await provider.increase({ by: 1 })).toBeUndefined();
  expect(await provider.endMachine({ node: 'n' })).toBeUndefined();
});
