import { berthApp } from './berth-app.ts';
import { SettingsError } from './rules.ts';

/** The entry that `cdk.json` names. */
try {
  berthApp().synth();
} catch (error) {
  if (!(error instanceof SettingsError)) {
    throw error;
  }
  // The list is all that helps here; a stack trace would bury it.
  console.error(error.message);
  process.exitCode = 1;
}
