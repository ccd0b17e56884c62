import { run } from './program.ts';

/** `berth`: the command of whoever operates a cluster. */

// The warning is for whoever develops Berth, not for whoever uses it.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

// Whoever reads from a pipe may have had enough, as `head` has.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  input: process.stdin,
  env: process.env,
  terminal: process.stderr.isTTY ? process.stderr : undefined,
});
