import { expect, test } from 'vitest';
import { demandAt, playersOf } from './players.ts';
import { EVENING, timeOf } from './scene.ts';

test('the demand is what is said at its minutes, and the line between them', () => {
  const demand = [
    [10, 2],
    [20, 12],
  ] as const;
  expect([0, 10, 15, 20, 99].map((minute) => demandAt({ demand }, minute))).toEqual([2, 2, 7, 12, 12]);
});

test('players come in order, the same for the same seed, within the scene', () => {
  const players = playersOf(EVENING, 7);
  expect(playersOf(EVENING, 7)).toEqual(players);
  expect(playersOf(EVENING, 8)).not.toEqual(players);
  expect(players.map(({ at }) => at)).toEqual(players.map(({ at }) => at).toSorted((a, b) => a - b));
  expect(players.every(({ at }) => at > EVENING.from && at < timeOf(EVENING, EVENING.minutes))).toBe(true);
});

test('about as many play as the demand says, few in the afternoon and at night, and some for hours', () => {
  const scenes = Array.from({ length: 40 }, (_, seed) => playersOf(EVENING, seed));
  const playing = (minute: number) => {
    const now = timeOf(EVENING, minute);
    const at = scenes.map(
      (players) => players.filter((one) => one.at <= now && one.at + one.minutes * 60_000 > now).length,
    );
    return at.reduce((sum, count) => sum + count, 0) / scenes.length;
  };
  expect(Math.abs(playing(80) - 4)).toBeLessThan(1);
  expect(Math.abs(playing(230) - demandAt(EVENING.players, 230))).toBeLessThan(4);
  expect(playing(320)).toBeGreaterThan(30);
  expect(playing(640)).toBeLessThan(6);
  const long = scenes.flat().filter(({ minutes }) => minutes > 60);
  expect(long.length / scenes.length).toBeGreaterThan(4);
  expect(Math.max(...long.map(({ minutes }) => minutes))).toBeLessThan(280);
});
