import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeKubeconfig } from './kubeconfig-file.ts';
import { kubeconfigText } from './kubernetes/kubeconfig.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-kubeconfig-'));
  file = join(folder, 'kubeconfig');
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (url: string, name = 'local') => kubeconfigText({ name, url, caPem: 'PEM', token: 'secret' });
const TEXT = at('https://127.0.0.1:1234');

test('is written for its owner alone', () => {
  writeKubeconfig(file, TEXT);
  expect(readFileSync(file, 'utf8')).toBe(TEXT);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each([
  ['of an earlier run', at('https://127.0.0.1:99')],
  ['that is empty', '\n'],
])('a file %s is written over', (_, before) => {
  writeFileSync(file, before);
  writeKubeconfig(file, TEXT);
  expect(readFileSync(file, 'utf8')).toBe(TEXT);
});

test('a file that was there is for its owner alone as well', () => {
  writeFileSync(file, '', { mode: 0o644 });
  writeKubeconfig(file, TEXT);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a directory is refused by its name', () => {
  expect(() => writeKubeconfig(folder, TEXT)).toThrow(`${folder} is no file`);
});

describe('is refused, and nothing changed,', () => {
  test.each([
    ['the way to a real cluster', at('https://api.example.com')],
    ['the way to another cluster on this machine', at('https://127.0.0.1:99', 'minikube')],
    ['who somebody is to another cluster', TEXT.replace('users:', 'users:\n  - name: prod\n    user:\n      token: x')],
    ['no cluster, but users', 'clusters: []\nusers: [{name: prod, user: {token: x}}]'],
    ['something else', 'notes: []'],
    ['what cannot be read as YAML', '{'],
  ])('where the file holds %s', (_, before) => {
    writeFileSync(file, before);
    expect(() => writeKubeconfig(file, TEXT)).toThrow(`${file} is there already, and is no kubeconfig of a simulated`);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});
