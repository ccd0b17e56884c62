import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { exampleFacts, SHORT_SCENE } from '../testing/example-scene.ts';
import { scalerDisplay } from './progress.ts';

test('says what time it is in the scene, and what is there', () => {
  const output = new PassThrough();
  const display = scalerDisplay(
    { output: output as unknown as NodeJS.WriteStream, quiet: false, clock: () => 0 },
    SHORT_SCENE,
  );
  const [sample] = exampleFacts().samples.slice(50);
  if (sample === undefined) throw new Error('the example ends before');
  display.progress({ ...sample, minute: 50, playing: 7 });
  display.end();
  expect(String(output.read())).toBe('16:50: target 2; 2 active, 0 pending, 3 draining, 1 held; 7 games\n');
});
