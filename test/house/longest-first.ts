import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files of tests that take most of a minute, by the beginning of their path. Begun last, one of them would keep one worker
 * busy while the others have nothing left to do. A file that is missing here costs time and nothing else.
 */
const LONG = [
  'test/faults/large-plans-at-once',
  'test/cases/',
  'test/faults/large-plans',
  'test/engine/',
  'test/faults/',
  'demo/',
  'cases/main',
  'local/main',
];

/** Begins with the files that take longest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex((path) => moduleId.includes(`/${path}`));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
