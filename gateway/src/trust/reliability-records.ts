/**
 * The reliability records of all nodes. Gateways report the end of every job to each other, so each gateway's record
 * covers the fleet.
 */
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { QUARANTINE_JOBS_WINDOW } from "../base/node-trust-thresholds.ts";
import type { PeerGateways } from "../dispatch/exchange/peer-gateways.ts";
import type { AttemptFailure } from "../dispatch/running-attempt.ts";
import { type ExcusedPeriod, type JobEnd, type QuarantineVerdict, ReliabilityRecord } from "./reliability.ts";

const FAILURES: Record<AttemptFailure, true> = {
  engine: true,
  agent: true,
  prompt: true,
  protocol: true,
  silent: true,
  lost: true,
  miss: true,
};

/** The message in which gateways exchange the end of a job. Times are on the sender's clock. */
const ToldEnd = z.object({
  job: z.string(),
  failure: z.enum(Object.keys(FAILURES) as [AttemptFailure, ...AttemptFailure[]]).nullable(),
  offered: z.number(),
  ended: z.number(),
  /**
   * The builder, and the share of the context that the prompt used. Sent only for failures whose count is limited per
   * builder.
   */
  account: z.string().optional(),
  part: z.number().optional(),
});
/** The time at which a gateway quarantined the node. */
const ToldBarring = z.object({ barred: z.number() });
/**
 * The node answered a probe at this time, so its earlier misses (jobs without output, although another node returned
 * some) are dropped.
 */
const ToldForgiving = z.object({ forgiven: z.number() });
/** The plane, not the node, caused the silence between these times. */
const ToldExcuse = z.object({ excused: z.object({ from: z.number(), until: z.number() }) });
const ToldItem = z.union([ToldEnd, ToldBarring, ToldForgiving, ToldExcuse]);
type ToldEnd = z.infer<typeof ToldEnd>;
type ToldItem = z.infer<typeof ToldItem>;

/** A job that ended well, as nearly all do, is recognized without the schema, which would cost ten times as much. */
function parseItem(told: unknown): ToldItem | undefined {
  const { job, failure, offered, ended } = (told ?? {}) as Partial<Record<keyof ToldEnd, unknown>>;
  if (failure === null && typeof job === "string" && Number.isFinite(offered) && Number.isFinite(ended))
    return { job, failure, offered: offered as number, ended: ended as number };
  return ToldItem.safeParse(told).data;
}

/** The most items in one message: a full window of jobs, and the other events that may occur meanwhile. */
const ITEMS_MAX = QUARANTINE_JOBS_WINDOW + 4;

interface RecordsOptions {
  /** The other gateways. Undefined: this is the only one. */
  peers: Pick<PeerGateways, "exchange"> | undefined;
  clock: Clock;
  /** Called when, with the report of another gateway, a node has failed too often. */
  judged: (nodeId: string, verdict: QuarantineVerdict) => void;
}

export interface ReliabilityRecords {
  /**
   * Records the end of a job at this gateway. If the node has failed too often, returns the reason and evidence for a
   * quarantine.
   */
  note(nodeId: string, end: JobEnd & { job: string }): QuarantineVerdict | undefined;
  /** Clears the record of a node that was quarantined. */
  startAnew(nodeId: string): void;
  forgetMisses(nodeId: string): void;
  /** Adds failures from before the node joined. */
  carry(nodeId: string, failures: number): void;
  /** Excuses the node's silence from `sinceMs` until now, because the plane caused it. */
  forgive(nodeId: string, sinceMs: number): void;
  of(nodeId: string): Pick<ReliabilityRecord, "count" | "restsOnMisses">;
}

export function openReliabilityRecords({ peers, clock, judged }: RecordsOptions): ReliabilityRecords {
  const records = new Map<string, ReliabilityRecord>();
  const recordOf = (nodeId: string): ReliabilityRecord => {
    const record = records.get(nodeId) ?? new ReliabilityRecord();
    records.set(nodeId, record);
    return record;
  };

  const hear = (nodeId: string, items: ToldItem[], { shiftMs }: { shiftMs: number }): void => {
    const record = recordOf(nodeId);
    for (const item of items) {
      if ("barred" in item) record.startAnew(item.barred + shiftMs);
      else if ("excused" in item) record.forgive(shifted(item.excused, shiftMs));
      else if ("forgiven" in item) record.forgetMisses(item.forgiven + shiftMs);
      else {
        const verdict = record.note(endOf(item, shiftMs));
        if (verdict !== undefined) judged(nodeId, verdict);
      }
    }
  };
  const held = (nodeId: string): ToldItem[] => {
    const { jobs, since, missesSince, excuses } = (records.get(nodeId) ?? new ReliabilityRecord()).window;
    const items: ToldItem[] = jobs.flatMap(({ job, ...end }) => (job === undefined ? [] : told({ job, ...end })));
    if (Number.isFinite(since)) items.push({ barred: since });
    for (const excused of excuses) items.push({ excused });
    if (Number.isFinite(missesSince)) items.push({ forgiven: missesSince });
    return items;
  };
  const tell = peers?.exchange({ name: "jobs", itemsMax: ITEMS_MAX, parse: parseItem, hear, held });

  return {
    note(nodeId, end) {
      tell?.(nodeId, told(end));
      return recordOf(nodeId).note(end);
    },
    startAnew(nodeId) {
      const barred = clock.monotonic();
      recordOf(nodeId).startAnew(barred);
      tell?.(nodeId, { barred });
    },
    carry: (nodeId, failures) => recordOf(nodeId).carry(failures),
    forgetMisses(nodeId) {
      const forgiven = clock.monotonic();
      recordOf(nodeId).forgetMisses(forgiven);
      tell?.(nodeId, { forgiven });
    },
    forgive(nodeId, sinceMs) {
      const excused = { from: Math.floor(sinceMs), until: Math.ceil(clock.monotonic()) };
      recordOf(nodeId).forgive(excused);
      tell?.(nodeId, { excused });
    },
    of: (nodeId) => records.get(nodeId) ?? new ReliabilityRecord(),
  };
}

const shifted = ({ from, until }: ExcusedPeriod, shiftMs: number): ExcusedPeriod => ({
  from: from + shiftMs,
  until: until + shiftMs,
});

function told({ job, failure, offeredAt, endedAt, origin }: JobEnd & { job: string }): ToldEnd {
  const whose = failure === "prompt" && origin !== undefined && { account: origin.accountId, part: origin.contextPart };
  return { job, failure, offered: Math.round(offeredAt), ended: Math.round(endedAt), ...whose };
}

function endOf({ job, failure, offered, ended, account, part }: ToldEnd, shiftMs: number): JobEnd {
  const origin = account === undefined || part === undefined ? undefined : { accountId: account, contextPart: part };
  return { job, failure, offeredAt: offered + shiftMs, endedAt: ended + shiftMs, origin };
}
