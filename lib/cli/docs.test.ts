import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { berthCommand } from '../../test/support/command.ts';
import { checkPlan } from '../plans/check-plan.ts';

const DOCS = new URL('../../docs/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, DOCS), 'utf8');
const pages = readdirSync(DOCS).filter((name) => name.endsWith('.md'));

/** Lines of the pages that are a command of berth, without what is said of them. */
const commands = pages
  .flatMap((name) => read(name).split('\n'))
  .filter((line) => line.startsWith('berth '))
  .map((line) => (line.split(' #')[0] ?? '').trim());

describe('the pages of docs', () => {
  it('name commands of berth', () => {
    expect(commands.length).toBeGreaterThan(20);
  });

  it.each([...new Set(commands)])('name a command that there is: %s', async (command) => {
    const words = command.split(' ').slice(1);
    const options = words.filter((word) => word.startsWith('--'));
    const path = words[0] === 'audit' || words[0] === 'sweep' ? words.slice(0, 1) : words.slice(0, 2);
    const { status, out } = await berthCommand({}, [...path, '--help']);
    expect(status).toBe(0);
    expect(out).toMatch(new RegExp(`^Usage: berth ${path.join(' ')} `));
    for (const option of options) expect(out).toContain(option);
  });

  it('show plans that are plans', () => {
    const plans = [...read('workers.md').matchAll(/```json\n(.*?)```/gs)].map(([, json]) => JSON.parse(json ?? ''));
    expect(plans).toHaveLength(1);
    for (const plan of plans) expect(checkPlan(plan)).toHaveProperty('plan');
  });
});
