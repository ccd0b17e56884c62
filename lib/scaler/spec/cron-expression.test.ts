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
  '0 8 30,1 2 *',
  '0 8 31 2-12/6 *',
  '0 8 31 1-12/11 *',
  '0 8 29 2-2 *',
  '0 8 29 FEB *',
  '3-3 * * * *',
  '*/59 */23 */31 */12 */7',
  '0 8 * * sat-sun',
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
  ['0 8 * * SUN-MON-TUE', /day of week/],
  ['0 8 * JAN-SUN *', /month .*got "JAN-SUN"/],
  ['0 8-SUN * * *', /hour .*got "8-SUN"/],
  ['0 8 * * 1-XYZ', /day of week .*got "1-XYZ"/],
  ['0 8 30 2-2/5 *', /a day that there is/],
  ['0 8 31 2-12/7 *', /a day that there is/],
  ['0 8 31 6-11/5 *', /a day that there is/],
  ['*/60 * * * *', /minute .*got "\*\/60"/],
  ['0 8 * *  @', /day of week .*got "@"/],
  ['0 8 * * TZ=UTC', /day of week .*got "TZ=UTC"/],
  ['@', /such as @daily/],
  ['  @daily', /such as @daily/],
  ['  TZ=UTC 0 8 * * *', /write the zone in timezone/],
  ['8', /got 1$/],
  ['   ', /got 0$/],
])('refuses "%s" and says why', (cron, why) => {
  expect(cronProblem(cron)).toMatch(why);
});

it.each([
  ['60 8 * * *', 'numbers from 0 to 59, ranges'],
  ['0 8 * 13 *', 'numbers from 1 to 12 or JAN to DEC, ranges'],
  ['0 8 * * 8', 'numbers from 0 to 7 or SUN to SAT, ranges'],
])('says of "%s" what the field may hold', (cron, expected) => {
  expect(cronProblem(cron)).toContain(`expected in the field for the `);
  expect(cronProblem(cron)).toContain(expected);
});
