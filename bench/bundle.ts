import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { APPLIER, type Bed } from './bed.ts';
import { type Figure, median } from './figure.ts';

const MOST_KIB = 500;
const IMPORT_MS = 150;
/** Processes that import the bundle. */
const IMPORTS = 7;

const SCRIPT =
  'const begin = performance.now(); await import(process.argv[1]); console.log(performance.now() - begin);';

/** The size of the applier's bundle as it is deployed, and how long a fresh process takes to import it. */
export async function bundle(bed: Bed): Promise<Figure[]> {
  const definition = bed.engine.functions.get(APPLIER)?.definition;
  if (!definition) throw new Error(`there is no function ${APPLIER}`);
  const url = pathToFileURL(definition.bundle).href;
  const times: number[] = [];
  for (let nth = 0; nth < IMPORTS; nth++) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', SCRIPT, url], {
      env: { ...definition.environment },
    });
    times.push(Number(stdout));
  }
  const size = statSync(definition.bundle).size / 1024;
  const figure = (what: string, value: number, rest: Pick<Figure, 'unit' | 'kind'> & Partial<Figure>): Figure => {
    return { bench: 'bundle', what, value, ...rest };
  };
  const what = `import of the applier, ${IMPORTS} fresh processes`;
  return [
    figure('plan applier, minified', size, { unit: 'KiB', kind: 'count', atMost: MOST_KIB }),
    figure(`${what}, median`, median(times), { unit: 'ms', kind: 'clock', atMost: IMPORT_MS }),
    figure(`${what}, fastest`, Math.min(...times), { unit: 'ms', kind: 'clock' }),
  ];
}
