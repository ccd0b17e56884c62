/** What a worker, an agent or an operator's script imports. */
export type { Drift } from '../nodes/audit.ts';
export type { Eligibility, NodeSpecInput, NodeStatus } from '../nodes/node.ts';
export type { Pool, PoolSettings, PoolSpecInput } from '../nodes/pool.ts';
export type { NodeEvent } from '../nodes/profile.ts';
export type { Resources } from '../nodes/resources.ts';
export type { PlanInput } from '../plans/plan.ts';
export type { PlanResult } from '../plans/result.ts';
export { InvalidInputError, type Problem } from '../schema.ts';
export type { TaskReportInput } from '../tasks/report.ts';
export type { Service, ServiceMode, ServiceSpecInput } from '../tasks/service.ts';
export type { DesiredState, TaskState } from '../tasks/states.ts';
export type { SweepRecord } from '../tasks/sweep.ts';
export type { Task } from '../tasks/task.ts';
export type { AuditOptions, AuditReport, NodeDrift } from './audit.ts';
export {
  type AgentCalls,
  type Berth,
  connect,
  type HistoryCalls,
  type OperatorCalls,
  type WorkerCalls,
} from './berth.ts';
export { NodeChangeError } from './change-node.ts';
export { type PlanCheck, PlanUnusableError } from './check.ts';
export type { ConnectOptions } from './connection.ts';
export type { DeadLetters, Discarded } from './dead-letters.ts';
export type { NodeDetails, PlanRecord } from './inspect.ts';
export { NodeNotFoundError } from './nodes.ts';
export type { PlanUnderWay } from './plans-under-way.ts';
export { type PoolChange, PoolNotFoundError, PoolShardsError } from './pools.ts';
export { NodeHoldsTasksError, type RemoveNodeOptions } from './remove-node.ts';
export type { ReportOutcome, TaskRefInput } from './report-task.ts';
export { PlanTimeoutError } from './results.ts';
export type { LimitChange, ServicesOptions } from './services.ts';
export type { Redriven, SetAside } from './set-aside.ts';
export type { SetAsideMessage } from './set-aside-message.ts';
export { type NodeView, PoolIndexTimeoutError, type PoolSnapshot, type SnapshotOptions } from './snapshot.ts';
export type { SubmitOptions } from './submit.ts';
export { SweepFailedError, SweepStalledError, SweepTimeoutError, type SweepWaitOptions } from './sweeps.ts';
export type { SlotHistory, TaskVerdict } from './task-history.ts';
