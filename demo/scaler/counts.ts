import { duration, whole } from '../numbers.ts';
import type { ScalerSummary } from './summary.ts';
import type { Requests } from './ticks.ts';

/** What is counted of a scene, for the terminal and for the page alike. */
export type Count = readonly [name: string, count: number, note?: string];

/** The first is the sum of the next four. */
export function gameCounts({ games, servers }: Pick<ScalerSummary, 'games' | 'servers'>): Count[] {
  const waited = games.waited === 0 ? 'none' : `at most ${duration(games.longestWaitSeconds)}`;
  return [
    ['begun', games.begun, `at most ${whole(games.mostAtOnce)} at once`],
    ['played to their end', games.played],
    ['still played', games.stillPlayed, 'when the scene ends'],
    ['lost with a machine', games.lostWithMachine, 'that failed by itself'],
    ['ended by Berth', games.endedByBerth],
    ['waited for a server', games.waited, waited],
    ['servers deleted', servers.deletedByBerth, `by Berth; ${whole(servers.withSession)} of them with a session`],
  ];
}

/** The first is the sum of the others. */
export function tickCounts({ ticks, seconds }: Pick<ScalerSummary, 'ticks' | 'seconds'>): Count[] {
  return [
    ['all', ticks.all, `one each minute of the scene, in ${duration(seconds)}`],
    ['nothing to do', ticks.idle, requestsText(ticks.requests.idle)],
    ['something done', ticks.busy, requestsText(ticks.requests.busy)],
    ['delivered twice', ticks.twin, 'at once'],
    ['could not see', ticks.blind, 'what is in the cluster'],
    ['killed', ticks.killed, 'with the function, in the middle of it'],
    ['not run', ticks.held, 'while the lease was that of the function that was killed'],
  ];
}

function requestsText({ kubernetes, aws, dynamodb }: Requests): string {
  const of = [
    [kubernetes, 'Kubernetes'],
    [aws, 'AWS'],
    [dynamodb, 'DynamoDB'],
  ] as const;
  const told = of.map(([{ median, most }, name]) => `${whole(median)} to ${name} (at most ${whole(most)})`);
  return `requests: ${told.join(', ')}`;
}
