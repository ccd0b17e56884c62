import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type BerthAppProps, berthApp } from '../../infra/berth-app.ts';

/** A resource of a template. */
export interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** A template as CDK writes it. */
export interface TemplateJson {
  readonly Resources: Record<string, Resource>;
  readonly Outputs?: Record<string, unknown>;
}

/** The templates of both stacks, under prefix `Berth` unless the context says otherwise. Nothing is bundled or checked. */
export function synthesized(context: BerthAppProps['context'] = {}): { state: TemplateJson; functions: TemplateJson } {
  const prefix = context.prefix ?? 'Berth';
  // Named, since CDK would leave a temporary directory of its own behind.
  const outdir = mkdtempSync(join(tmpdir(), 'berth-templates-'));
  try {
    const app = berthApp({ outdir, checks: false, context: { 'aws:cdk:bundling-stacks': [], ...context } });
    const assembly = app.synth();
    return {
      state: assembly.getStackByName(`${prefix}State`).template,
      functions: assembly.getStackByName(`${prefix}Functions`).template,
    };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/** The resources of a type, with their logical ids. */
export function byType(template: TemplateJson, type: string): [string, Resource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type);
}

/** What there is of a function besides its code. Logical ids begin with the name of its construct. */
export function functionParts(template: TemplateJson, construct: string) {
  const only = (type: string, begins = construct): [string, Resource] => {
    const found = byType(template, type).filter(([id]) => id.startsWith(begins));
    expect(found.map(([id]) => id)).toHaveLength(1);
    return found[0] as [string, Resource];
  };
  const [functionId, { Properties }] = only('AWS::Lambda::Function');
  const { Code: _bundle, LoggingConfig, Role, ...properties } = Properties;
  const [logGroupId, logGroup] = only('AWS::Logs::LogGroup');
  const [roleId, role] = only('AWS::IAM::Role', `${construct}Role`);
  const [, source] = only('AWS::Lambda::EventSourceMapping');
  return { functionId, properties, LoggingConfig, Role, logGroupId, logGroup, roleId, role, source };
}

export function tableArn(name: string): unknown {
  return arn('dynamodb', `table/${name}`);
}

export function sqsArn(name: string): unknown {
  return arn('sqs', name);
}

export function arn(service: string, resource: string): unknown {
  const parts = [
    'arn:',
    { Ref: 'AWS::Partition' },
    `:${service}:`,
    { Ref: 'AWS::Region' },
    ':',
    { Ref: 'AWS::AccountId' },
  ];
  return { 'Fn::Join': ['', [...parts, `:${resource}`]] };
}

export function queueUrl(name: string): unknown {
  const parts = [
    'https://sqs.',
    { Ref: 'AWS::Region' },
    '.',
    { Ref: 'AWS::URLSuffix' },
    '/',
    { Ref: 'AWS::AccountId' },
  ];
  return { 'Fn::Join': ['', [...parts, `/${name}`]] };
}
