/** What the internal port tells of this gateway, for graphs and alarms. What was spent to the last digit is in the books. */
import type { Dependency } from "../../base/dependency.ts";
import type { LoopDelays } from "../../base/loop-delay.ts";
import type { Ledger, LedgerTallies } from "../../ledger/ledger.ts";
import { openPage, type Page, type Reading } from "./page.ts";
import { micro, openTraffic, type Traffic } from "./traffic.ts";

interface MetricFacts {
  /** Who speaks: its name among the gateways, and what it runs. */
  about: { gateway: string; version: string };
  /** Whether `/readyz` says so. */
  isReady: () => boolean;
  /** Connected nodes. */
  nodes: () => number;
  /** Requests that hold credit. */
  holds: () => number;
  models: () => Iterable<string>;
  capacityOf: (model: string) => { slots: number; busy: number };
  /** Requests that wait for a node of the model. */
  waitingFor: (model: string) => number;
  dependencies: () => readonly Dependency[];
  /** Connections to the database. */
  pool: () => { max: number; total: number; idle: number; waiting: number };
  /** How far the database's clock is ahead of ours; null while they were not compared. */
  clockOffsetMs: () => number | null;
  ledger: () => Pick<Ledger, "tallies" | "batches">;
  /** Ended requests that are not in the books yet. */
  settlementsWaiting: () => number;
  /** Months that have records of requests, and those of them that should be gone; undefined while nobody has looked. */
  months: () => { kept: number; due: number } | undefined;
  /** Requests that ended and are in no rollup yet; undefined where nobody has looked. */
  rollupBacklog: () => { requests: number; oldest: Date | null } | undefined;
  /** The last verdict on the books, whoever gave it; undefined while there is none. */
  verdict: () => { at: Date; balanced: boolean } | undefined;
  now: () => number;
  /** Since they were last read. */
  loopDelays: () => LoopDelays;
}

export interface Metrics extends Traffic {
  /** Puts these on the page too, once the parts that know them are there. Traffic is counted from the start. */
  tellOf: (facts: MetricFacts) => void;
  page: () => Promise<{ contentType: string; text: string }>;
}

export function openMetrics(): Metrics {
  const page = openPage();
  return { ...openTraffic(page), tellOf: (facts) => tellOf(page, facts), page: page.text };
}

function tellOf(page: Page, facts: MetricFacts): void {
  page.gauge("tollgate_build_info", "1; its labels say which gateway this is.", () => [[1, facts.about]]);
  page.gauge("tollgate_ready", "1 while /readyz says that requests can be served.", () => [[facts.isReady() ? 1 : 0]]);
  tellOfEventLoop(page, facts);
  tellOfFleet(page, facts);
  tellOfDependencies(page, facts);
  tellOfBooks(page, facts);
  tellOfHistory(page, facts);
}

/** By the names that prom-client gave them: dashboards and alerts know them. */
function tellOfEventLoop(page: Page, { loopDelays }: MetricFacts): void {
  let delays: LoopDelays;
  page.gauge("nodejs_eventloop_lag_seconds", "Delay of the event loop when it was last looked at.", () => {
    // The first of these that the page asks for: the others are of the same look.
    delays = loopDelays();
    return [[delays.last]];
  });
  const figures = {
    min: "The least delay of the event loop since the last reading.",
    max: "The greatest.",
    mean: "The mean.",
    stddev: "The standard deviation.",
    p50: "The 50th percentile.",
    p90: "The 90th percentile.",
    p99: "The 99th percentile.",
  };
  for (const [name, help] of Object.entries(figures)) {
    page.gauge(`nodejs_eventloop_lag_${name}_seconds`, help, () => [[delays[name as keyof LoopDelays]]]);
  }
}

function tellOfFleet(page: Page, { nodes, holds, models, capacityOf, waitingFor }: MetricFacts): void {
  const ofModels = (read: (model: string) => number) =>
    function* (): Generator<Reading> {
      for (const model of models()) yield [read(model), { model }];
    };
  page.gauge("tollgate_nodes_connected", "Nodes connected to this gateway.", () => [[nodes()]]);
  page.gauge("tollgate_requests_in_flight", "Requests that hold credit now.", () => [[holds()]]);
  page.gauge(
    "tollgate_slots",
    "Requests that the connected nodes of a model take at once.",
    ofModels((model) => capacityOf(model).slots),
  );
  page.gauge(
    "tollgate_slots_busy",
    "Those of them that are taken.",
    ofModels((model) => capacityOf(model).busy),
  );
  page.gauge("tollgate_requests_queued", "Requests that wait for a node of the model.", ofModels(waitingFor));
}

function tellOfDependencies(page: Page, { dependencies, pool, clockOffsetMs }: MetricFacts): void {
  const ofEach = (pick: (one: Dependency) => number | null) =>
    function* (): Generator<Reading> {
      for (const one of dependencies()) {
        const value = pick(one);
        if (value !== null) yield [value, { dependency: one.name }];
      }
    };
  page.gauge(
    "tollgate_dependency_up",
    "1 where it answers, 0 while it is away.",
    ofEach(({ isAway }) => (isAway ? 0 : 1)),
  );
  page.gauge(
    "tollgate_dependency_latency_seconds",
    "The last measured round trip to it.",
    ofEach(({ latencyMs }) => (latencyMs === null ? null : latencyMs / 1000)),
  );
  page.counter(
    "tollgate_refused_away_total",
    "Asks that were refused at once because what they need was away.",
    ofEach(({ refused = 0 }) => refused),
  );
  page.gauge("tollgate_clock_offset_seconds", "How far the database's clock is ahead of this machine's.", () => {
    const offsetMs = clockOffsetMs();
    return offsetMs === null ? [] : [[offsetMs / 1000]];
  });
  page.gauge("tollgate_pool_connections", "Connections to the database, in use and idle.", () => {
    const { total, idle } = pool();
    return [
      [total - idle, { state: "busy" }],
      [idle, { state: "idle" }],
    ];
  });
  page.gauge("tollgate_pool_connections_max", "As many as there may be.", () => [[pool().max]]);
  page.gauge("tollgate_pool_waiting", "Queries that wait for a connection.", () => [[pool().waiting]]);
}

function tellOfBooks(page: Page, { ledger, settlementsWaiting, verdict, now }: MetricFacts): void {
  // What the ledger counts itself, read when somebody asks.
  const sum = (name: string, help: string, read: (of: LedgerTallies) => number): void =>
    page.counter(name, help, () => [[read(ledger().tallies)]]);
  page.counter(
    "tollgate_settlements_total",
    "Ended requests: in the books, there after their lease had run out, or given up.",
    () => {
      const { committed, late, givenUp } = ledger().tallies;
      return [
        [committed, { how: "committed" }],
        [late, { how: "late" }],
        [givenUp, { how: "given_up" }],
      ];
    },
  );
  sum("tollgate_settlements_retried_total", "Tries of settlements that the store did not take.", (of) => of.retried);
  sum("tollgate_settlements_spooled_total", "Settlements that waited on the disk for the store.", (of) => of.spooled);
  sum("tollgate_settlements_unsafe_total", "Requests answered with store and disk away.", (of) => of.unsafe);
  sum("tollgate_settlements_short_microdollars_total", "What late settlements could not collect.", (of) =>
    micro(of.short),
  );
  sum("tollgate_holds_expired_total", "Holds that this gateway ended with their lease.", (of) => of.expired);
  page.gauge("tollgate_settlements_waiting", "Ended requests that are not in the books yet.", () => [
    [settlementsWaiting()],
  ]);

  const ofBatches = (pick: "sizes" | "waitS" | "tripS") => () =>
    Object.entries(ledger().batches).map(([batch, figures]) => [figures[pick], { batch }] as const);
  page.histogram(
    "tollgate_batch_size",
    "Operations of the ledger that went to the store together.",
    ofBatches("sizes"),
  );
  page.histogram("tollgate_batch_wait_seconds", "Time until an operation's batch left.", ofBatches("waitS"));
  page.histogram("tollgate_batch_seconds", "Time that a batch was on its way.", ofBatches("tripS"));

  // A zero would be an alarm where nobody has looked yet.
  const ofVerdict = (value: (of: { at: Date; balanced: boolean }) => number) => (): Reading[] => {
    const last = verdict();
    return last === undefined ? [] : [[value(last)]];
  };
  page.gauge(
    "tollgate_books_balanced",
    "1 where the last proof of the books found no difference, 0 where it found one.",
    ofVerdict(({ balanced }) => (balanced ? 1 : 0)),
  );
  page.gauge(
    "tollgate_books_verdict_age_seconds",
    "How long ago the books were last proved.",
    ofVerdict(({ at }) => Math.max(0, now() - at.getTime()) / 1000),
  );
}

function tellOfHistory(page: Page, { months, rollupBacklog, now }: MetricFacts): void {
  const ofMonths = (pick: "kept" | "due") => (): Reading[] => {
    const found = months();
    return found === undefined ? [] : [[found[pick]]];
  };
  page.gauge("tollgate_history_months", "Months that have records of requests.", ofMonths("kept"));
  page.gauge(
    "tollgate_history_months_due",
    "Those of them that are older than HISTORY_DAYS and not gone yet.",
    ofMonths("due"),
  );
  page.gauge("tollgate_rollup_waiting", "Ended requests that the console's figures do not count yet.", () => {
    const backlog = rollupBacklog();
    return backlog === undefined ? [] : [[backlog.requests]];
  });
  page.gauge("tollgate_rollup_oldest_seconds", "How long ago the oldest of them was made.", () => {
    const backlog = rollupBacklog();
    if (backlog === undefined) return [];
    return [[backlog.oldest === null ? 0 : Math.max(0, now() - backlog.oldest.getTime()) / 1000]];
  });
}
