/**
 * Causes the faults one after the other in an order that the seed determines: a quiet interval, the fault, its end, and
 * recovery. The load continues all the time.
 */

import { describeEnd, type RequestObservation } from "@tollgate/stage/load/observation.ts";
import { REQUEST_KINDS } from "@tollgate/stage/load/request-kinds.ts";
import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import type { FaultEpisode } from "./audit/find-violations.ts";
import type { Fault } from "./faults.ts";
import { releaseQuarantinedNodes } from "./stage/release-quarantined-nodes.ts";
import type { Platform } from "./stage/stage.ts";

const LEAD_MS = 2_000;
/** The time in milliseconds without any failure that must pass before the next fault. */
const CALM_MS = 2_000;
const RECOVERY_S = 45;
/**
 * Helps to choose a fault that still fits into the remaining time: most faults recover within this many milliseconds
 * after their end.
 */
const USUAL_RECOVERY_MS = 6_000;
const LOOK_EVERY_MS = 200;

interface RunOptions<On extends Platform> {
  stage: On;
  sights: readonly RequestObservation[];
  faults: readonly Fault<On>[];
  /** A fault that occurs once, before the others. */
  first: Fault<On> | undefined;
  chance: SeededRandom;
  /** Milliseconds since the run began. */
  now: () => number;
  /** No fault begins after this moment. Undefined, which requires `rounds`: however long the rounds take. */
  endsAt: number | undefined;
  /** How many times each fault occurs. Undefined: as often as fits before `endsAt`. */
  rounds: number | undefined;
  say: (line: string) => void;
}

export async function runFaults<On extends Platform>(options: RunOptions<On>): Promise<FaultEpisode[]> {
  const { faults, first, chance, now, endsAt = Number.POSITIVE_INFINITY, rounds, say } = options;
  const episodes: FaultEpisode[] = [];
  let round: Fault<On>[] = [];
  const strike = async (fault: Fault<On>): Promise<void> => {
    const episode = await strikeOnce(fault, options);
    episodes.push(episode);
    say(`${seconds(episode.struckAt)}  ${fault.name}: ${told(episode)}`);
  };
  if (first !== undefined) await strike(first);
  if (rounds !== undefined) {
    for (let i = 0; i < rounds; i++)
      for (const fault of chance.shuffled(faults)) if (now() < endsAt) await strike(fault);
    return episodes;
  }
  for (;;) {
    if (round.length === 0) round = chance.shuffled(faults);
    const fits = ({ lasts, takes = 0 }: Fault<On>): boolean =>
      now() + LEAD_MS + (lasts + takes) * 1000 + USUAL_RECOVERY_MS < endsAt;
    const next = round.find(fits);
    if (next === undefined && !faults.some(fits)) return episodes;
    if (next !== undefined) await strike(next);
    round = next === undefined ? [] : round.filter((fault) => fault !== next);
  }
}

async function strikeOnce<On extends Platform>(
  fault: Fault<On>,
  { stage, sights, chance, now }: RunOptions<On>,
): Promise<FaultEpisode> {
  await sleep(LEAD_MS);
  const struckAt = now();
  const heal = await fault.strike(stage, chance);
  await sleep(fault.lasts * 1000);
  await heal();
  const healedAt = now();
  const { name, mayShow, mayWait = false, mayBar = false, recoversWithin = RECOVERY_S } = fault;
  const isCalm = (): boolean => stage.isWhole() && servedAsBefore(sights, healedAt, now());
  while (!isCalm() && now() < healedAt + HANG_LIMIT_MS) await sleep(LOOK_EVERY_MS);
  const episode = {
    ...{ fault: name, mayShow, mayWait, mayBar, struckAt, healedAt, recovered: isCalm(), calmAt: now() },
    recoversWithinMs: recoversWithin * 1000,
  };
  if (mayBar) await releaseQuarantinedNodes(stage);
  return episode;
}

/**
 * Returns whether every kind of request has succeeded since the last failure, and that failure was at least CALM_MS
 * ago.
 */
function servedAsBefore(sights: readonly RequestObservation[], healedAt: number, nowMs: number): boolean {
  const since = endedSince(sights, healedAt);
  const failures = since.filter((sight) => describeEnd(sight) !== "ok");
  const lastFailureAt = Math.max(healedAt, ...failures.map(({ beganAt }) => beganAt));
  if (failures.some(({ endedAt }) => endedAt > nowMs - CALM_MS)) return false;
  const served = new Set(since.filter(({ beganAt }) => beganAt >= lastFailureAt).map(({ kind }) => kind));
  return REQUEST_KINDS.every(({ name, isLong = false }) => isLong || served.has(name));
}

/**
 * Returns the time from the end of the fault until the start of the last request that failed because of it; zero if
 * none failed.
 */
export function computeRecoveryMs({ healedAt, calmAt }: FaultEpisode, sights: readonly RequestObservation[]): number {
  const failures = sights.filter(
    (sight) => sight.beganAt >= healedAt && sight.endedAt < calmAt && describeEnd(sight) !== "ok",
  );
  return Math.max(0, ...failures.map(({ beganAt }) => beganAt - healedAt));
}

/** Returns the requests that ended after `at`. `sights` must be sorted by the end of the requests. */
function endedSince(sights: readonly RequestObservation[], at: number): RequestObservation[] {
  const first = sights.findLastIndex(({ endedAt }) => endedAt < at) + 1;
  return sights.slice(first);
}

const told = ({ struckAt, healedAt, calmAt, recovered }: FaultEpisode): string =>
  `held ${seconds(healedAt - struckAt)}, ${recovered ? `calm ${seconds(calmAt - healedAt)} later` : "NOT RECOVERED"}`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
