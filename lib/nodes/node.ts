import * as z from 'zod/mini';
import { nodeId, poolName } from '../ids.ts';
import { flag, integer, listOf, objectOf, oneOf, recordOf, text } from '../schema.ts';
import { BOUNDS } from '../settings.ts';
import { parsePortRanges } from './ports.ts';
import { resourcesSchema } from './resources.ts';

export const NODE_STATUSES = ['initializing', 'ready', 'disconnected', 'down'] as const;
export type NodeStatus = (typeof NODE_STATUSES)[number];

export const ELIGIBILITIES = ['eligible', 'ineligible'] as const;
export type Eligibility = (typeof ELIGIBILITIES)[number];

const portRanges = text(0, 1024).check(
  z.refine((value) => parsePortRanges(value) !== undefined, {
    error: 'ports and ranges of ports from 0 to 65535 are expected, as in "22,80-90"',
  }),
);

/** A device of a node, named `vendor/type/model/instance` or as the user likes. Exclusive: one task at a time. */
const deviceSchema = objectOf({ id: text(1, BOUNDS.idLength), healthy: z._default(flag, true) });

const addressSchema = objectOf({ ip: text(1, 45), reservedPorts: z.optional(portRanges) });

/**
 * What registers a node, or registers it again with other values. `capacity` is what tasks may use, reservations of the
 * machine's own already taken off.
 */
export const nodeSpecSchema = objectOf({
  nodeId,
  pool: poolName,
  capacity: resourcesSchema(BOUNDS.resourcesPerNode),
  /** Default `ready`. */
  status: z.optional(oneOf(NODE_STATUSES)),
  /** Default: as it is for a node that exists, else `eligible`. */
  eligibility: z.optional(oneOf(ELIGIBILITIES)),
  /** Default: as it is for a node that exists, else false. */
  drain: z.optional(flag),
  /** Ids of the cores that tasks may reserve. Default: none. */
  cores: z._default(listOf(integer(0, 65_535), BOUNDS.coresPerNode), []),
  devices: z._default(listOf(deviceSchema, BOUNDS.devicesPerNode), []),
  addresses: z._default(listOf(addressSchema, BOUNDS.addressesPerNode), []),
  /** Ports that no task may use on any address, as in `22,80-90`. Default: none. */
  reservedPorts: z._default(portRanges, ''),
  /** Tasks that may be on the node at once. Default: no limit. */
  maxTasks: z.optional(integer(0, 1_000_000)),
  labels: z._default(
    recordOf(
      text(1, BOUNDS.labelLength),
      text(0, BOUNDS.labelLength),
      BOUNDS.labelsPerNode,
      'an object of texts by name, {"rack": "r1"}',
    ),
    {},
  ),
});

/** A node as a caller hands it in: what has a default may be left out. */
export type NodeSpecInput = z.input<typeof nodeSpecSchema>;
/** A node as it is registered. */
export type NodeSpec = z.output<typeof nodeSpecSchema>;
