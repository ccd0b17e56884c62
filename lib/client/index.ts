/** What a worker, an agent or an operator's script imports. */
export type { NodeSpecInput } from '../nodes/node.ts';
export type { Pool, PoolSettings, PoolSpecInput } from '../nodes/pool.ts';
export type { Resources } from '../nodes/resources.ts';
export type { PlanInput } from '../plans/plan.ts';
export type { PlanResult } from '../plans/result.ts';
export { InvalidInputError, type Problem } from '../schema.ts';
export type { TaskReportInput } from '../tasks/report.ts';
export type { DesiredState, TaskState } from '../tasks/states.ts';
export type { Task } from '../tasks/task.ts';
export { type Berth, connect, type SubmitOptions } from './berth.ts';
export type { ConnectOptions } from './connection.ts';
export { PoolNotFoundError, PoolShardsError } from './pools.ts';
export type { ReportOutcome, TaskRefInput } from './report-task.ts';
export { PlanTimeoutError } from './results.ts';
export type { NodeView, PoolSnapshot } from './snapshot.ts';
