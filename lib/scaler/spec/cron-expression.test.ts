import { expect, it } from 'vitest';
import { cronProblem } from './cron-expression.ts';

it.each([
  '0 17 * * FRI',
  '*/15 0-6,20-23 1,15 jan-mar mon-fri',
  '0 0 * * 7',
  '0 0 * * SAT,SUN',
  '0 0 * * FRI-SUN',
  '5-55/10 * * * *',
  ' 0  8 * *  * ',
  '0 8 29 2 *',
  '0 8 31 2-4/2,5 *',
  '0 8 31 2 MON',
])('takes "%s"', (cron) => {
  expect(cronProblem(cron)).toBeUndefined();
});

it.each([
  ['0 0 8 * * *', /five fields .*got 6/],
  ['0 8 * *', /got 4/],
  ['', /got 0/],
  ['@every 5m', /@daily/],
  ['@daily', /@daily/],
  ['CRON_TZ=UTC 0 8 * * *', /write the zone in timezone/],
  ['TZ=UTC 0 8 * * *', /write the zone in timezone/],
  ['60 8 * * *', /minute \*.*got "60"/],
  ['0 24 * * *', /hour/],
  ['0 8 0 * *', /day of month/],
  ['0 8 * 13 *', /month/],
  ['0 8 * * 8', /day of week/],
  ['0 8 L * *', /day of month/],
  ['0 8 * * FRI#2', /day of week/],
  ['0 8 ? * *', /day of month/],
  ['0 8 * * 5-1', /day of week/],
  ['0 8 * * SUN-SUN', /day of week.*got "SUN-SUN"/],
  ['0 8 * * 0-SUN', /day of week/],
  ['0 8 30 2 *', /a day that there is.*30 in month 2/],
  ['0 8 31 FEB,4-6/2,11 *', /a day that there is/],
  ['5/15 * * * *', /minute/],
  ['*/0 * * * *', /minute/],
  ['0 8, * * *', /hour/],
  ['0 8 * FRI *', /month/],
])('refuses "%s" and says why', (cron, why) => {
  expect(cronProblem(cron)).toMatch(why);
});
