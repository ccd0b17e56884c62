import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { CommittedGroup } from '../../lib/plans/apply.ts';
import type { Decided } from '../../lib/plans/fold.ts';
import type { PlanResult } from '../../lib/plans/result.ts';

/** Refusals that one line of metrics names with node and code, as properties: searchable, and no dimension. */
const MOST_NAMED = 100;

/** What is counted of one pool in one invocation. */
export class PoolMeasure {
  readonly #pool: string;
  readonly #plans = new Map<PlanResult['status'], number>();
  readonly #rejections: { node: string; code: string }[] = [];
  #rejected = 0;
  #marked = 0;
  #withheld = 0;
  #quarantined = 0;
  #score = 0;
  /** Whether the pool is known to exist: a plan of it was decided at an index, or has changed it. */
  #exists = false;
  /** Whether something came that a name that is no pool's would bring. */
  #doubtful = false;

  constructor(pool: string) {
    this.#pool = pool;
  }

  decided({ result, stored }: Decided): void {
    if (stored) return;
    if (result.index > 0) this.#exists = true;
    else this.#doubtful = true;
    this.#plans.set(result.status, (this.#plans.get(result.status) ?? 0) + 1);
    this.#rejected += result.rejectedNodes.length;
    for (const { nodeId, code } of result.rejectedNodes.slice(0, MOST_NAMED - this.#rejections.length)) {
      this.#rejections.push({ node: nodeId, code });
    }
  }

  committed({ marked, withheld, highestScore }: CommittedGroup): void {
    this.#marked += marked.length;
    this.#withheld += withheld.length;
    this.#score = Math.max(this.#score, highestScore);
  }

  quarantined(): void {
    this.#quarantined++;
    this.#doubtful = true;
  }

  /** Writes one line in embedded metric format. The pool is the only dimension: never a node, a plan or a code. */
  publish(): void {
    const metrics = new Metrics({ serviceName: 'plan-applier' });
    // A name that is no pool's is anybody's to invent, and would be a metric of its own for ever.
    const pool = this.#exists || !this.#doubtful ? this.#pool : 'none';
    metrics.addDimension('pool', pool);
    for (const [status, count] of this.#plans) metrics.addMetric(`plan.${status}`, MetricUnit.Count, count);
    const counts = {
      'plan.node_rejected': this.#rejected,
      'plan.node_marked_ineligible': this.#marked,
      'plan.node_mark_withheld': this.#withheld,
      'plan.quarantined': this.#quarantined,
      'plan.node_score': this.#score,
    };
    for (const [name, value] of Object.entries(counts)) if (value > 0) metrics.addMetric(name, MetricUnit.Count, value);
    if (this.#rejections.length > 0) metrics.addMetadata('rejections', JSON.stringify(this.#rejections));
    if (!metrics.hasStoredMetrics()) return;
    if (pool !== this.#pool) metrics.addMetadata('group', this.#pool);
    metrics.publishStoredMetrics();
  }
}
