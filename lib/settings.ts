/**
 * Every number that can be set or that others depend on, with its reason. One place, so that the function's
 * time-out, the queue's visibility and a result's life cannot drift apart.
 */

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

/** Limits of the platform that designs depend on. Sources: `docs/platform.md`. */
export const PLATFORM = {
  /** Actions in one TransactWriteItems. */
  transactionActions: 100,
  /** Bytes of all items of one TransactWriteItems. */
  transactionBytes: 4 * 1024 * 1024,
  /** Bytes of one item, attribute names included. */
  itemBytes: 400 * 1024,
  /** Keys in one BatchGetItem. */
  batchGetKeys: 100,
  /** Bytes of one SQS message, attributes included. */
  messageBytes: 1024 * 1024,
  /** Messages of one receive of a FIFO queue, and so of one batch. */
  fifoBatch: 10,
} as const;

export const APPLIER = {
  /** Seconds one invocation may take. A batch of ten plans takes a fraction of a second; the rest is for retries. */
  timeoutSeconds: 30,
  /** MiB. CPU comes with memory: 1 GiB is about 0.6 of a core. */
  memoryMiB: 1024,
  /** Milliseconds before the time-out at which no further plan is begun, and no further retry of one. */
  reserveMs: 5_000,
  /** Milliseconds before the time-out at which a request that is under way is given up, so that the answer still gets out. */
  abortMs: 1_500,
  /** Messages of one batch. */
  batchSize: PLATFORM.fifoBatch,
  /** First pause after a conflict or throttling, milliseconds; doubles, with full jitter. */
  backoffBaseMs: 20,
  /** Longest pause between two tries, milliseconds. */
  backoffCapMs: 2_000,
} as const;

export const QUEUES = {
  /**
   * Visibility of the plan queue in seconds. Lambda wants at least the function's time-out and AWS advises six times
   * that, since a throttled invocation is tried again inside it.
   */
  planVisibilitySeconds: 6 * APPLIER.timeoutSeconds,
  /** How long a plan may wait. A plan older than a day is of no use to anyone. */
  planRetentionSeconds: DAY,
  /**
   * Receives before a message goes to the dead-letter queue. AWS advises at least 5 with Lambda; the last plan of a batch of
   * ten large ones may be given back once for each of the others.
   */
  planMaxReceives: 15,
  /** The longest that SQS offers. */
  deadLetterRetentionSeconds: 14 * DAY,
  quarantineRetentionSeconds: 14 * DAY,
} as const;

export const RESULTS = {
  /**
   * Seconds a result is kept. It is what keeps a plan from taking effect again, so it outlives every message:
   * the plan queue's retention and the dead-letter queue's together, and a day for redriving.
   */
  retentionSeconds: 16 * DAY,
  /** Seconds for which is kept what a commit changed: a worker that has not looked for so long reads its pool in full. */
  changesSeconds: 3600,
  /** Problems listed in an `invalid` result; that there are more is said. Keeps the item below 400 KB. */
  maxProblems: 50,
  /** Characters of one message or problem. */
  maxMessageLength: 400,
} as const;

/** Bounds of what a plan or a node may hold. A plan is at most 1 MiB anyway; these keep items and expressions bounded. */
export const BOUNDS = {
  /** Entries of one list of a plan: more than 1 MiB holds, the shortest entry being one of 44 bytes. */
  entriesPerList: 24_000,
  idLength: 128,
  resourceNameLength: 64,
  labelLength: 256,
  resourcesPerTask: 32,
  portsPerTask: 64,
  coresPerTask: 512,
  devicesPerTask: 64,
  volumesPerTask: 32,
  resourcesPerNode: 64,
  addressesPerNode: 16,
  coresPerNode: 1024,
  devicesPerNode: 256,
  labelsPerNode: 64,
  priorityMax: 32_767,
  /** Reserved ports of a node that stand as claims of their own; wider reservations stand as ranges. */
  reservedPortClaims: 16,
  /**
   * Bytes that ports and volumes may take of their node's account, each the length of its key and of the task's id and a
   * little: they are anybody's to name, and an account past 400 KB could not be written any more. About 2,000 ports with
   * ids of 26 characters. The other 300 KB hold all that a node may list, held by tasks with the longest of ids.
   */
  namedClaimBytesPerNode: 96 * 1024,
  nodeEvents: 10,
  shardsMax: 64,
} as const;

export const POOL_DEFAULTS = {
  /** Partitions that the nodes of a pool are spread over: each carries 1,000 write units a second. Fixed when the pool is made. */
  shards: 8,
  stopRelease: 'plan',
} as const;

/** Nomad's defaults of `plan_rejection_tracker`, its rate limit of 5 nodes in 30 minutes with a burst of 10; enabled, where Nomad's is not. */
export const TRACKER_DEFAULTS = {
  enabled: true,
  threshold: 100,
  windowSeconds: 300,
  markRatePerSecond: 5 / (30 * MINUTE),
  markBurst: 10,
} as const;

/** What is kept of a slot's past. */
export const HISTORY = {
  /** Old tasks that a slot keeps, where neither its service nor the cluster says. SwarmKit's default. */
  limit: 5,
} as const;

export const REAPER = {
  /** Seconds one invocation may take. A batch takes a fraction of a second; the rest is for retries. */
  timeoutSeconds: 60,
  memoryMiB: 512,
  /** Milliseconds before the time-out at which no further slot is begun. */
  reserveMs: 10_000,
  /** Milliseconds before the time-out at which a request that is under way is given up. */
  abortMs: 2_000,
  /** Records of one batch. A slot is looked at once, however many of its records are in it. */
  batchSize: 100,
  /** Seconds that a batch is gathered for. History may be late; an invocation saved is money. */
  batchingWindowSeconds: 2,
  /** Batches of one shard at once, told apart by slot. */
  parallelizationFactor: 10,
  /** Tries of a batch after the first, before it is told to the failure queue. The sweep finds what was in it. */
  maxRetries: 20,
  /** Seconds after which a record is given up: a quarter of what the stream keeps. */
  maxRecordAgeSeconds: 6 * 3600,
  /** Slots read at the same time. */
  slotsAtOnce: 10,
  /** Tasks deleted by one request: what BatchExecuteStatement takes. */
  deletesPerRequest: 25,
  /** Times that a slot is read and decided anew after something in it changed meanwhile. */
  tries: 5,
  /** Longest life of the failure queue's messages, the longest that SQS offers. */
  failureRetentionSeconds: 14 * DAY,
} as const;

const SWEEPER_TIMEOUT = MINUTE;

export const SWEEPER = {
  /** Seconds one page may take. */
  timeoutSeconds: SWEEPER_TIMEOUT,
  /** Milliseconds before the time-out at which no further slot is begun. */
  reserveMs: 10_000,
  /** Milliseconds before the time-out at which a request that is under way is given up. */
  abortMs: 2_000,
  /** Visibility of the sweep queue in seconds: six time-outs, as of the plan queue. */
  visibilitySeconds: 6 * SWEEPER_TIMEOUT,
  /** How long a page may wait: while somebody mends what keeps the sweeper from running. */
  retentionSeconds: 4 * DAY,
  /** When the daily sweep begins, UTC: where most clusters of a region are not at their busiest, and not on the hour. */
  dailyHour: 3,
  dailyMinute: 17,
  memoryMiB: 512,
  /** Tasks of one page of the table or of an index. */
  pageTasks: 1000,
  /** Slots of one page that are named by number. */
  pageSlots: 200,
  /** Slots a second that a sweep looks at, at most: the next page is sent with as much delay. */
  slotsPerSecond: 500,
  /**
   * Pages done at the same time, whichever sweeps they are of: a thousand services that are set at once are a thousand
   * sweeps, each at its own pace. The least that Lambda takes.
   */
  maxConcurrency: 2,
  /** Seconds that a slot must have been left alone for a scheduled sweep to count it as lost: before, the stream may still come. */
  graceSeconds: 15 * MINUTE,
  /** Seconds a sweep's record is kept, for who wants to see how it went. */
  recordSeconds: 30 * DAY,
  /** Seconds that the record of a removed service is kept: its tasks are gone long before. */
  removedServiceSeconds: 90 * DAY,
  /** Receives of a page before it goes to the failure queue. */
  maxReceives: 8,
  /** Receive from which on slots that fail are left as they are, so that the others are come to. */
  tolerantFrom: 4,
} as const;

const SCALER_TIMEOUT = 55;

export const SCALER = {
  /** Seconds one invocation may take: less than the minute between two ticks, so that one seldom finds another at work. */
  timeoutSeconds: SCALER_TIMEOUT,
  /** MiB. The lists of a large cluster are held at once, and CPU for TLS and JSON comes with memory. */
  memoryMiB: 512,
  /**
   * Milliseconds before the time-out at which a tick begins nothing more: a fifth of the time, for what is under way then,
   * and for what is told.
   */
  reserveMs: SCALER_TIMEOUT * 200,
  /** Milliseconds before the time-out at which a request that is under way is given up, so that the lease is given back. */
  abortMs: 3_000,
  /** Seconds between two ticks. The least that the scheduler knows; a clock of schedules needs no less. */
  tickSeconds: MINUTE,
  /** Age in seconds past which a tick is not begun any more: the next one is there by then. The least that Lambda takes. */
  maxTickAgeSeconds: MINUTE,
  /**
   * Seconds for which a tick holds its cluster, from its start by its own clock: as long as the function can live, and the
   * rest for clocks that differ. Who is paused for longer can write no ledger any more, and begins nothing, being late.
   */
  leaseSeconds: SCALER_TIMEOUT + 10,
  /** Seconds ahead past which what is stored as the time of a lease or of a tick is damage: no clock is wrong by a day. */
  farAheadSeconds: DAY,
  /** Clusters of one deployment: three alarms each, and a line each in the function's environment. */
  maxClusters: 25,
  /** Bytes of the list of clusters as JSON. Lambda has 4 KB for the whole environment of a function. */
  clustersBytes: 3_000,
  /** Objects of one cluster that are acted on at the same time: some may wait for a hook, or have much to delete. */
  objectsAtOnce: 8,
  /** Self-managed groups of one cluster that are named in the settings. */
  groupsPerCluster: 10,
  /** Objects of a cluster that have metrics of their own, the first by name: each costs six metrics a month. */
  meteredPools: 50,
  /**
   * Bytes that the ledgers of one cluster may take of its item, what is written for the first time included; the rest of
   * the 400 KB is for the lease. Orders remember the uids of the nodes that were there: some 24 bytes a node.
   */
  ledgerBytes: 380 * 1024,
  /** Bytes that the uids of one order may be once they are unpacked: those of 10,000 nodes are 400 KB. */
  baselineBytes: 4 * 1024 * 1024,
  /** Seconds after which what is remembered of an object that is gone is given up: nobody will finish it any more. */
  orphanLedgerSeconds: 7 * DAY,
  /** Seconds between the cordon of a node and its removal, at least: the scheduler may bind from a stale cache for a while. */
  settleSeconds: 30,
  /**
   * Seconds after a cordon past which no cache is that stale any more, nor clocks that different: a server that was made later
   * and is on the node has been placed there in spite of it.
   */
  staleCacheSeconds: 2 * MINUTE,
  /** Seconds within which an outside that answers now and then is one trouble, and its event is not told again. */
  flappingSeconds: 5 * MINUTE,
  /**
   * Seconds within which an ordered node joins; then a hook is asked again, and a machine of a group told of.
   * Cluster-autoscaler's max-node-provision-time.
   */
  joinSeconds: 15 * MINUTE,
  /**
   * Machines without a node that a ledger remembers, of one object: 60 bytes each, of room that orders and removals need too.
   * More that never join have the same cause.
   */
  unjoinedRemembered: 25,
  /** Seconds after which a drain that is blocked is told, where the object does not say. Nothing is ever forced. */
  drainWarningSeconds: DAY,
  /** Largest target of a pool. Agones recommends 500 nodes for a whole cluster; this only catches slips of the finger. */
  maxReplicas: 10_000,
  schedulesPerObject: 50,
  overridesPerObject: 100,
  /** Longest window of a schedule, minutes: a week and a day. Longer than the cron's period it would only mean "always". */
  maxWindowMinutes: 8 * 24 * 60,
  /** Longest lead of a schedule, seconds. */
  maxLeadSeconds: DAY,
  /** Entries of `spec.config`, and of a node selector in it. */
  configEntries: 64,
  /** Characters of one value of `spec.config`; a CA bundle has its own bound. */
  configLength: 1024,
  /** Characters of `grpcHook.caBundle`: some thirty certificates, as webhooks have them. */
  caBundleLength: 100_000,
  /**
   * What the preview of the next change looks at, at most: boundaries of windows times schedules, each a quarter of a
   * millisecond. A schedule each minute has many, and fifty of them must not take the seconds that all clusters have.
   */
  previewLooks: 400,
  /**
   * The same for the timetables of one command, which may take seconds: enough for a schedule of every five minutes over a
   * week. Of many pools each has its part, and the least of all is 50 schedules a day for more than a week.
   */
  timetableLooks: 3_000,
  leastTimetableLooks: 600,
  /** Milliseconds that one call to Berth's own tables about the nodes of pools may take. */
  registryCallMs: 8_000,
  /** Protected servers of one drain that the status names. */
  namesInMessage: 5,
  /** Drains that a status lists: a few hundred bytes each, of the 1.5 MB that etcd takes for an object. */
  drainsShown: 500,
  /** Machines under removal that a status lists: of each tick a few, as many as end at once. */
  deletionsShown: 20,
} as const;

/** What providers are asked, and how. */
export const PROVIDER_CALLS = {
  /** Groups of one page of DescribeAutoScalingGroups: the most that it takes. */
  groupsPerPage: 100,
  /** Instances of one DescribeAutoScalingInstances: the most that it takes. */
  instancesPerRequest: 50,
  /** Activities that are looked through for why machines do not start. */
  activities: 20,
  /** Seconds that a failed launch is told for. A group tries again after minutes, and at the latest about every half hour. */
  shortageSeconds: 60 * MINUTE,
  /** Milliseconds that a hook has for Validate, and for Size. */
  hookValidateMs: 5_000,
  /** Milliseconds that a hook has for Increase and Delete. */
  hookChangeMs: 30_000,
  /** Bytes that one reply of a hook may have: some thousand problems. */
  hookReplyBytes: 1024 * 1024,
  /** Characters of what a provider says that are told on. */
  messageLength: 400,
} as const;

/** How API servers of Kubernetes are asked. */
export const KUBERNETES = {
  /** Milliseconds until a connection stands, TLS included. A missing route shows as silence and as nothing else. */
  connectMs: 3_000,
  /** Milliseconds that a request may take from its beginning to the last byte of its answer. */
  requestMs: 10_000,
  /** Bytes of one answer: a page of objects of 64 KiB each, ten times what they are. */
  answerBytes: 32 * 1024 * 1024,
  /** Objects of one page of a list. What kubectl asks for, too. */
  pageSize: 500,
  /** Pages of one list: more objects than a cluster can have (Kubernetes supports 150,000 pods). */
  pages: 1_000,
  /** Times that a list is begun anew since its pages were no longer of one state (410). */
  listRestarts: 3,
  /** Seconds that a token is used for. EKS takes it for 15 minutes, as does aws-iam-authenticator, which uses it for 14. */
  tokenSeconds: 14 * MINUTE,
  /** `X-Amz-Expires` of a token in seconds, as EKS's own clients send it; its life is not this. */
  tokenExpires: 60,
  /** Characters of what a server says that are told on. */
  messageLength: 400,
} as const;
