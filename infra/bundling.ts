import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { fromProjectRoot } from './project-root.ts';

/**
 * How every function is bundled, with the esbuild of this repository. Whoever needs a bundle (the local engine, the
 * bench) takes it from the synthesized asset, `index.mjs`, so that what runs there is what is deployed.
 */
export const BUNDLING: BundlingOptions = {
  format: OutputFormat.ESM,
  minify: true,
  target: 'node22',
  // The modules of the AWS SDK are a third smaller than its CommonJS files.
  mainFields: ['module', 'main'],
  // The SDK of the runtime changes without us; the one in the lock file is the one that was tested.
  externalModules: [],
  // CommonJS dependencies call `require`, which an ES module lacks. Renamed, since a bundled module may import the same name.
  esbuildArgs: { '--alias:@aws-sdk/credential-provider-node': fromProjectRoot('lib/aws/lambda-credentials.ts') },
  banner: "import{createRequire as berthRequire}from'node:module';const require=berthRequire(import.meta.url);",
  // The map lies beside the bundle and is read only by a process that asks for it (`--enable-source-maps`): reading it
  // at every cold start costs a third of the import. Positions are enough to find a line, so it holds no sources.
  sourceMap: true,
  sourcesContent: false,
  logLevel: LogLevel.WARNING,
};
