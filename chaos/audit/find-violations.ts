/**
 * The auditor compares every client's observations with the history and the ledger, after all faults have ended, no
 * request is in flight and all leases have expired. It is a pure function and kept simple: it shares no code with the
 * product, and its own tests show that it detects errors.
 */
import { countWords, describeEnd, type RequestObservation } from "@tollgate/stage/load/observation.ts";
import { describeWrongCharge } from "./expected-charges.ts";
import type { LedgerRecord, LedgerState } from "./ledger-state.ts";
import { matchRequests } from "./match-requests.ts";

/** One fault, from its beginning until clients are served as before. */
export interface FaultEpisode {
  fault: string;
  /** The time at which the fault began, in milliseconds since the run began. */
  struckAt: number;
  healedAt: number;
  /** The time at which clients were served as before again; the next fault may begin then. */
  calmAt: number;
  /** The results that clients may get besides `ok`, in the form that `describeEnd` returns. */
  mayShow: readonly string[];
  /** Whether clients may wait long for an error, because the fault freezes or cuts off their gateway. */
  mayWait: boolean;
  /** Whether the platform may quarantine a node, because the fault is in that node. */
  mayBar: boolean;
  recovered: boolean;
  /** The time limit, after the end of the fault, for serving clients as before. */
  recoversWithinMs: number;
}

/** The kinds of violations that the auditor finds. */
export type AuditRule =
  /** An answer that was not charged. */
  | "lost"
  /** A request that was charged or recorded twice, or that no client sent. */
  | "double"
  /** A charge that differs from the cost of the answer. */
  | "charge"
  /** A record whose tokens differ from the delivered ones. */
  | "tokens"
  /** Output that differs from the requested text. */
  | "text"
  /** A result that the contract never allows during this fault. */
  | "answer"
  /** A refused request or broken stream that only an overload or another fault explains. */
  | "refused"
  /** A client that waited too long for an error. */
  | "wait"
  /** Clients that were again served as before the fault, but later than promised. */
  | "late"
  /** Clients that were never again served as before the fault. */
  | "not recovered"
  | "hold"
  | "ledger"
  | "quarantine";

export interface Violation {
  rule: AuditRule;
  /** The fault during which the violation began; `quiet` if there was none. */
  fault: string;
  what: string;
}

/**
 * Rules that are also broken on a busy machine, where the platform misses its own deadlines. They only count with
 * `--strict`, on a machine without other work. Otherwise they are reported without failing the run.
 */
const NEEDS_A_FREE_MACHINE: ReadonlySet<AuditRule> = new Set(["refused", "wait", "late", "quarantine"]);

export const isViolationCounted = ({ rule }: Violation, { strict }: { strict: boolean }): boolean =>
  strict || !NEEDS_A_FREE_MACHINE.has(rule);

/** The results of an overloaded platform: a part of it failed, or its processes do not get enough processor time. */
const OVERLOADED = [
  ...["503", "503 no_capacity", "event no_capacity", "429 rate_limit_sku_capacity"],
  ...["502 upstream_stall", "event upstream_stall"],
];

/**
 * The maximum wait for an error in milliseconds: the dispatch deadline, until which lost jobs are retried, and a second
 * for a busy machine.
 */
const REFUSAL_MS_MAX = 10_000 + 1_000;
/** The maximum time in milliseconds until a gateway notices that a request in flight was lost through a fault. */
const NOTICED_MS_MAX = 2_300;
export const NO_FAULT = "quiet";

interface Evidence {
  sights: readonly RequestObservation[];
  ledgerState: LedgerState;
  episodes: readonly FaultEpisode[];
  /** The time at which the run began, in milliseconds since 1970. */
  epoch: number;
}

export function findViolations({ sights, ledgerState, episodes, epoch }: Evidence): Violation[] {
  const { pairs, unexplained } = matchRequests(sights, ledgerState.records);
  return [
    ...sights.flatMap((sight) => answers(sight, episodes)),
    ...pairs.flatMap(({ sight, record }) => {
      const fault = findExplainingFault(sight, episodes);
      const name = `${sight.kind} ${sight.requestId ?? "without an id"}`;
      return compare(sight, record).map(([rule, what]) => ({ rule, fault, what: `${name}: ${what}` }));
    }),
    ...unexplained.map(({ id, outcome }) => general("double", `record ${id} (${outcome}) is of no client's request`)),
    ...ledgerState.records.flatMap((record) => {
      const wrong = describeWrongCharge(record);
      return wrong === undefined ? [] : [general("charge", `record ${record.id} ${wrong}`)];
    }),
    ...episodes.flatMap(recovery),
    ...ledger(ledgerState),
    ...ledgerState.quarantines.flatMap(({ node, reason, at }) => {
      const during = episodes.find(({ struckAt, calmAt }) => at - epoch > struckAt && at - epoch < calmAt);
      const what = `honest node ${node} was put in quarantine: ${reason}`;
      return during?.mayBar ? [] : [{ rule: "quarantine" as const, fault: during?.fault ?? NO_FAULT, what }];
    }),
  ];
}

const general = (rule: AuditRule, what: string): Violation => ({ rule, fault: NO_FAULT, what });

function recovery({ fault, recovered, healedAt, calmAt, recoversWithinMs }: FaultEpisode): Violation[] {
  if (!recovered) return [{ rule: "not recovered", fault, what: "clients were never served as before" }];
  if (calmAt - healedAt <= recoversWithinMs) return [];
  return [
    { rule: "late", fault, what: `clients were served as before only ${Math.round(calmAt - healedAt)} ms later` },
  ];
}

/** Returns the faults that overlap the time of a request. */
function episodesOf(sight: RequestObservation, episodes: readonly FaultEpisode[]): FaultEpisode[] {
  return episodes.filter(({ struckAt, calmAt }) => sight.beganAt < calmAt && sight.endedAt > struckAt);
}

/** Returns the fault that allows the client's result or, if none does, the last fault during the request. */
export function findExplainingFault(sight: RequestObservation, episodes: readonly FaultEpisode[]): string {
  const seen = episodesOf(sight, episodes);
  const answer = describeEnd(sight);
  return (seen.findLast(({ mayShow }) => mayShow.includes(answer)) ?? seen.at(-1))?.fault ?? NO_FAULT;
}

/**
 * For each fault that began during a request: the latest time at which the gateway noticed that the request was lost.
 */
const struckMeanwhile = ({ beganAt }: RequestObservation, seen: readonly FaultEpisode[]): number[] =>
  seen.filter(({ struckAt }) => struckAt > beganAt).map(({ struckAt }) => struckAt + NOTICED_MS_MAX);

/** Checks that the faults during a request allow the client's result. */
function answers(sight: RequestObservation, episodes: readonly FaultEpisode[]): Violation[] {
  const answer = describeEnd(sight);
  const seen = episodesOf(sight, episodes);
  const fault = findExplainingFault(sight, episodes);
  const found: Violation[] = [];
  const tookMs = Math.round(sight.endedAt - sight.beganAt);
  const name = `${sight.kind} ${sight.requestId ?? "without an id"}`;
  if (answer !== "ok" && !seen.some(({ mayShow }) => mayShow.includes(answer))) {
    const rule = OVERLOADED.includes(answer) ? "refused" : "answer";
    found.push({ rule, fault, what: `${name}: ${answer} after ${tookMs} ms` });
  }
  const waitedMs = sight.endedAt - Math.max(sight.beganAt, ...struckMeanwhile(sight, seen));
  const isLate = sight.end === "refused" && waitedMs > REFUSAL_MS_MAX && !seen.some(({ mayWait }) => mayWait);
  if (sight.end === "gave up" || isLate) {
    found.push({ rule: "wait", fault, what: `${name}: ${answer} only after ${tookMs} ms` });
  }
  return found;
}

type Wrong = [rule: AuditRule, what: string];

/** Compares the client's observation of a request with its record. */
function compare(sight: RequestObservation, record: LedgerRecord | undefined): Wrong[] {
  switch (sight.end) {
    case "complete":
      return answered(sight, record);
    case "refused":
      return refused(sight, record);
    case "event":
      return brokenOff(sight, record);
    // A gateway died, or the client disconnected. The output until then may have been settled or not.
    case "lost":
    case "hung up":
    case "gave up":
      return record === undefined ? [] : atLeastDelivered(sight, record);
  }
}

function answered(sight: RequestObservation, record: LedgerRecord | undefined): Wrong[] {
  const wrong: Wrong[] = [];
  if (sight.received !== sight.text) wrong.push(["text", "the answer is not the one that was ordered"]);
  if (record === undefined) return [...wrong, ["lost", "answered, and there is no record"]];
  if (record.outcome !== "ok") return [...wrong, ["lost", `answered, and its record says ${record.outcome}`]];
  const counted = { prompt: record.promptTokens, completion: record.completionTokens };
  const { usage } = sight;
  if (usage !== null && (usage.prompt !== counted.prompt || usage.completion !== counted.completion)) {
    wrong.push(["tokens", `the client was told ${JSON.stringify(usage)}, the record says ${JSON.stringify(counted)}`]);
  }
  if (record.short > 0n && !sight.isPoor)
    wrong.push(["lost", `answered, and ${record.short} was not collected from somebody who has it`]);
  if (sight.endpoint !== "embedding" && countWords(sight.text) !== counted.completion) {
    wrong.push(["tokens", `${countWords(sight.text)} tokens were ordered, ${counted.completion} are on the record`]);
  }
  return wrong;
}

/** A request that got a 502 may be charged, depending on the outcome in its record. Other refused requests are free. */
function refused({ status }: RequestObservation, record: LedgerRecord | undefined): Wrong[] {
  if (record === undefined || status === 502 || record.charge === 0n) return [];
  return [["charge", `refused with ${status}, and charged ${record.charge} (${record.outcome})`]];
}

/** A stream that ended with an error event costs exactly the tokens that reached the client. */
function brokenOff(sight: RequestObservation, record: LedgerRecord | undefined): Wrong[] {
  const wrong: Wrong[] = [];
  if (!sight.text.startsWith(sight.received))
    wrong.push(["text", "the output is not the beginning of what was ordered"]);
  if (record === undefined) return [...wrong, ["lost", `ended by ${sight.code}, and there is no record`]];
  if (record.outcome === "ok") return [...wrong, ["charge", `ended by ${sight.code}, and its record says ok`]];
  if (record.charge > 0n && record.completionTokens !== countWords(sight.received)) {
    const [got, paid] = [countWords(sight.received), record.completionTokens];
    wrong.push(["tokens", `${got} tokens reached the client, ${paid} were charged (${record.outcome})`]);
  }
  if (record.charge === 0n && sight.received !== "") {
    wrong.push(["lost", `${countWords(sight.received)} tokens reached the client for nothing (${record.outcome})`]);
  }
  return wrong;
}

function atLeastDelivered(sight: RequestObservation, record: LedgerRecord): Wrong[] {
  const received = countWords(sight.received);
  if (record.charge === 0n || record.completionTokens >= received) return [];
  return [["tokens", `${received} tokens reached the client, ${record.completionTokens} were charged`]];
}

function ledger(ledgerState: LedgerState): Violation[] {
  const found: Violation[] = [];
  const say = (rule: AuditRule, what: string): void => void found.push(general(rule, what));
  const charges = new Map(ledgerState.records.map(({ id, charge }) => [id, charge]));
  const transfers = new Set(ledgerState.transfers);
  for (const { id, charges: entries, charged, sum } of ledgerState.operations) {
    if (sum !== 0n) say("ledger", `the entries of ${id} sum to ${sum}`);
    if (entries > 1) say("double", `${id} was charged ${entries} times`);
    const recorded = charges.get(id);
    if (recorded === undefined && !transfers.has(id)) say("double", `entries of ${id} belong to no record`);
    if (recorded !== undefined && recorded !== charged) say("ledger", `${id} was charged ${charged}, not ${recorded}`);
  }
  const entered = new Set(ledgerState.operations.map(({ id }) => id));
  for (const [id, charge] of charges) {
    if (charge > 0n && !entered.has(id)) say("ledger", `the charge of ${id} is in no entry`);
  }
  const spent = new Map<string, bigint>();
  for (const { account, charge } of ledgerState.records) spent.set(account, (spent.get(account) ?? 0n) + charge);
  for (const { id, kind, balance, held, sum, granted } of ledgerState.accounts) {
    if (balance !== sum) say("ledger", `the balance of ${kind} ${id} is ${balance}, its entries sum to ${sum}`);
    const left = granted - (spent.get(id) ?? 0n);
    if (kind === "builder" && balance !== left) say("ledger", `builder ${id} has ${balance}, and should have ${left}`);
    if (kind === "builder" && balance < 0n) say("ledger", `builder ${id} is overdrawn: ${balance}`);
    if (held !== 0n) say("hold", `${held} of ${kind} ${id} is still held`);
  }
  for (const { id, isPastLease } of ledgerState.holds) {
    say("hold", `hold ${id} is still there${isPastLease ? ", past its lease" : ""}`);
  }
  if (ledgerState.ledgerCheck !== null) say("ledger", `ledger check: ${ledgerState.ledgerCheck}`);
  return found;
}
