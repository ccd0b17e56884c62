import { expect, test } from 'vitest';
import { humanDuration } from './human-duration.ts';

// Cases of k8s.io/apimachinery/pkg/util/duration/duration_test.go.
test.each([
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [3 * 60 + 1, '3m1s'],
  [10 * 60 + 30, '10m'],
  [179 * 60, '179m'],
  [180 * 60, '3h'],
  [3 * 3600 + 25 * 60, '3h25m'],
  [8 * 3600 + 60, '8h'],
  [47 * 3600, '47h'],
  [49 * 3600, '2d1h'],
  [8 * 24 * 3600 + 3600, '8d'],
  [2 * 365 * 24 * 3600 + 24 * 3600, '2y1d'],
  [9 * 365 * 24 * 3600, '9y'],
  [-5, '<invalid>'],
])('%i seconds are %s', (seconds, text) => {
  expect(humanDuration(seconds * 1000)).toBe(text);
});
