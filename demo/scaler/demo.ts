import { writeFile } from 'node:fs/promises';
import type { ScalerDemoOptions } from '../options.ts';
import { jsonText, writeAsked } from '../report/written-file.ts';
import { scalerPage } from './page.ts';
import { scalerDisplay } from './progress.ts';
import { runScalerDemo } from './run.ts';
import { EVENING, type Scene } from './scene.ts';
import { scalerSummaryOf } from './summary.ts';
import { scalerTable } from './table.ts';

export interface ScalerDemo extends ScalerDemoOptions {
  readonly output: NodeJS.WriteStream;
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /** Default: an evening and a night. */
  readonly scene?: Scene;
}

/** Plays the scene, prints its summary, writes the files that are asked for; answers with the exit status. */
export async function scalerDemo({ scene = EVENING, output, ...run }: ScalerDemo): Promise<0 | 1> {
  const { seed, quiet, clock, signal, json, report, kubeconfig } = run;
  const display = scalerDisplay({ output, quiet, clock }, scene);
  try {
    const onCluster = async (text: string) => {
      if (kubeconfig === undefined) return;
      // It has the administrator's token.
      await writeFile(kubeconfig, text, { mode: 0o600 });
      display.step(`look at the cluster while it runs: kubectl --kubeconfig ${kubeconfig} get gsn,nodes`);
    };
    const facts = await runScalerDemo({ scene, seed, display, clock, signal, onCluster });
    const summary = scalerSummaryOf(facts);
    output.write(`\n${scalerTable(summary)}\n`);
    await writeAsked({ output, quiet }, 'summary', json, () => jsonText(summary));
    await writeAsked({ output, quiet }, 'report', report, () => scalerPage(summary, facts));
    return summary.exitStatus;
  } finally {
    display.end();
  }
}
