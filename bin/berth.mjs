#!/usr/bin/env node
import { register } from 'tsx/esm/api';

// Berth runs without a build (docs/decisions/0001-toolchain.md).
register();
await import('../lib/cli/main.ts');
