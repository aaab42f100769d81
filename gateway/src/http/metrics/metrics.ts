/** This gateway's Prometheus metrics. Amounts of money are rounded here; exact amounts are in the ledger. */
import type { Dependency } from "../../base/dependency.ts";
import type { LoopDelays } from "../../base/event-loop-delay.ts";
import { pico } from "../../base/money.ts";
import type { Ledger, LedgerTallies } from "../../ledger/ledger.ts";
import { createMetricsPage, type MetricFigures, type MetricReading, type MetricsPage } from "./metrics-page.ts";
import { openTrafficMetrics, type TrafficMetrics, toMicro } from "./traffic-metrics.ts";

interface CheckFigures {
  drawn: number;
  run: number;
  dropped: number;
  bad: number;
  tokens: number;
  pico: bigint;
}

interface LossFigures {
  losses: number;
  lastAt: number | undefined;
  entered: number;
  notEntered: number;
  refused: number;
}

interface MetricFacts {
  /** The gateway's name and version. */
  about: { gateway: string; version: string };
  /** Whether `/readyz` reports ready. */
  isReady: () => boolean;
  /** The number of connected nodes. */
  nodes: () => number;
  /** The number of requests that hold credit. */
  holds: () => number;
  models: () => Iterable<string>;
  capacityOf: (model: string) => { slots: number; busy: number };
  /** The number of requests that wait for a node with this model. */
  waitingFor: (model: string) => number;
  dependencies: () => readonly Dependency[];
  /** The names of settings whose value differs from that of the other gateways. */
  differing: () => readonly string[];
  /** The connections to the database. */
  pool: () => { max: number; total: number; idle: number; waiting: number };
  /**
   * The offset between the database's clock and this machine's (null before the first reading), and its uncertainty.
   */
  databaseClock: () => { offsetMs: number | null; uncertaintyMs: number };
  /** The open file descriptors of this process; undefined on systems where they cannot be counted. */
  files: () => { open: number; max: number } | undefined;
  /** How many connections the database refused because it had too many. */
  connectionsRefused: () => number;
  /** Whether the limits server deletes counters when its memory is short; undefined if unknown. */
  limitsEvict: () => boolean | undefined;
  ledger: () => Pick<Ledger, "tallies" | "batches">;
  /** Figures on the spot checks by this gateway. */
  checks: () => CheckFigures;
  /** The number of ended requests that are not settled in the ledger yet. */
  settlementsWaiting: () => number;
  /** The number of months with request records, and of those due to be dropped; undefined before the first check. */
  months: () => { kept: number; due: number } | undefined;
  /** Ended requests that are not in the rollups yet; undefined before the first check. */
  rollupBacklog: () => { requests: number; oldest: Date | null } | undefined;
  /** The latest ledger check by any gateway; undefined if none ran. */
  verdict: () => { at: Date; balanced: boolean } | undefined;
  /** Commits lost in database failovers; undefined if failovers are not tracked. */
  losses: () => LossFigures | undefined;
  now: () => number;
  /** Event-loop delays since the last call. */
  loopDelays: () => LoopDelays;
}

export interface Metrics extends TrafficMetrics {
  /**
   * Adds the metrics that read other parts of the gateway. Called once these exist; traffic is counted from the start.
   */
  tellOf: (facts: MetricFacts) => void;
  page: () => Promise<{ contentType: string; text: string }>;
  figures: () => Promise<MetricFigures>;
}

export function openMetrics(): Metrics {
  const page = createMetricsPage();
  return {
    ...openTrafficMetrics(page),
    tellOf: (facts) => tellOf(page, facts),
    page: page.text,
    figures: page.figures,
  };
}

export const SETTING_DIFFERS = "tollgate_setting_differs";

function tellOf(page: MetricsPage, facts: MetricFacts): void {
  page.gauge("tollgate_build_info", "Always 1; the labels are the gateway's ID and version.", () => [[1, facts.about]]);
  page.gauge(
    "tollgate_ready",
    "1 if /readyz reports that the gateway can serve requests.",
    () => [[facts.isReady() ? 1 : 0]],
    "none",
  );
  page.gauge(
    SETTING_DIFFERS,
    "Always 1; one series for each setting of this gateway that differs from the value all gateways must share.",
    () => facts.differing().map((setting) => [1, { setting }]),
    "max",
  );
  tellOfEventLoop(page, facts);
  tellOfLimits(page, facts);
  tellOfFleet(page, facts);
  tellOfDependencies(page, facts);
  tellOfBooks(page, facts);
  tellOfChecks(page, facts);
  tellOfHistory(page, facts);
  tellOfLosses(page, facts);
}

/** Metrics of the event loop, under prom-client's default names, which dashboards and alerts use. */
function tellOfEventLoop(page: MetricsPage, { loopDelays }: MetricFacts): void {
  let delays: LoopDelays;
  page.gauge(
    "nodejs_eventloop_lag_seconds",
    "Delay of the event loop at the last sample.",
    () => {
      // Read once per scrape, for all metrics of this group.
      delays = loopDelays();
      return [[delays.last]];
    },
    "each",
  );
  const figures = {
    min: "Minimum delay of the event loop since the last scrape.",
    max: "Maximum delay of the event loop since the last scrape.",
    mean: "Mean delay of the event loop since the last scrape.",
    stddev: "Standard deviation of the event loop delay since the last scrape.",
    p50: "50th percentile of the event loop delay since the last scrape.",
    p90: "90th percentile of the event loop delay since the last scrape.",
    p99: "99th percentile of the event loop delay since the last scrape.",
  };
  for (const [name, help] of Object.entries(figures)) {
    page.gauge(`nodejs_eventloop_lag_${name}_seconds`, help, () => [[delays[name as keyof LoopDelays]]], "each");
  }
}

function tellOfLimits(page: MetricsPage, { files, connectionsRefused }: MetricFacts): void {
  const ofFiles = (pick: "open" | "max") => (): MetricReading[] => {
    const found = files();
    return found === undefined ? [] : [[found[pick]]];
  };
  page.gauge("tollgate_open_files", "File descriptors in use.", ofFiles("open"));
  page.gauge("tollgate_open_files_max", "Maximum number of file descriptors.", ofFiles("max"));
  page.counter(
    "tollgate_database_connections_refused_total",
    "Connections that the database refused because there were too many.",
    () => [[connectionsRefused()]],
  );
}

function tellOfFleet(page: MetricsPage, { nodes, holds, models, capacityOf, waitingFor }: MetricFacts): void {
  const ofModels = (read: (model: string) => number) =>
    function* (): Generator<MetricReading> {
      for (const model of models()) yield [read(model), { model }];
    };
  page.gauge("tollgate_nodes_connected", "Nodes connected to this gateway.", () => [[nodes()]], "max");
  page.gauge("tollgate_requests_in_flight", "Requests in flight, for which credit is held.", () => [[holds()]]);
  page.gauge(
    "tollgate_slots",
    "Slots of connected nodes: requests that they can serve at the same time, by model.",
    ofModels((model) => capacityOf(model).slots),
    "max",
  );
  page.gauge(
    "tollgate_slots_busy",
    "Slots in use.",
    ofModels((model) => capacityOf(model).busy),
    "max",
  );
  page.gauge("tollgate_requests_queued", "Requests that wait for a free slot, by model.", ofModels(waitingFor));
}

function tellOfDependencies(page: MetricsPage, { dependencies, pool, databaseClock, limitsEvict }: MetricFacts): void {
  const ofEach = (pick: (one: Dependency) => number | null) =>
    function* (): Generator<MetricReading> {
      for (const one of dependencies()) {
        const value = pick(one);
        if (value !== null) yield [value, { dependency: one.name }];
      }
    };
  page.gauge(
    "tollgate_dependency_up",
    "1 if the dependency is reachable, 0 if not.",
    ofEach(({ isAway }) => (isAway ? 0 : 1)),
    "min",
  );
  page.gauge(
    "tollgate_dependency_latency_seconds",
    "Last measured round trip to the dependency.",
    ofEach(({ latencyMs }) => (latencyMs === null ? null : latencyMs / 1000)),
    "max",
  );
  page.counter(
    "tollgate_refused_away_total",
    "Operations refused because the dependency was unreachable.",
    ofEach(({ refused = 0 }) => refused),
  );
  page.gauge(
    "tollgate_limits_evict",
    "1 if the limits server may delete counters, because its maxmemory-policy is not noeviction.",
    () => {
      const evicts = limitsEvict();
      return evicts === undefined ? [] : [[evicts ? 1 : 0]];
    },
    "max",
  );
  page.gauge(
    "tollgate_clock_offset_seconds",
    "How far the database's clock is ahead of this machine's.",
    () => {
      const { offsetMs } = databaseClock();
      return offsetMs === null ? [] : [[offsetMs / 1000]];
    },
    "max",
  );
  page.gauge(
    "tollgate_clock_uncertainty_seconds",
    "Largest possible error of the gateway's time of day.",
    () => {
      const { offsetMs, uncertaintyMs } = databaseClock();
      return offsetMs === null ? [] : [[uncertaintyMs / 1000]];
    },
    "max",
  );
  page.gauge("tollgate_pool_connections", "Connections to the database, by state (busy or idle).", () => {
    const { total, idle } = pool();
    return [
      [total - idle, { state: "busy" }],
      [idle, { state: "idle" }],
    ];
  });
  page.gauge("tollgate_pool_connections_max", "Maximum number of connections to the database.", () => [[pool().max]]);
  page.gauge("tollgate_pool_waiting", "Queries that wait for a database connection.", () => [[pool().waiting]]);
}

function tellOfBooks(page: MetricsPage, { ledger, settlementsWaiting, verdict, now }: MetricFacts): void {
  // A counter of the ledger itself, read at each scrape.
  const sum = (name: string, help: string, read: (of: LedgerTallies) => number): void =>
    page.counter(name, help, () => [[read(ledger().tallies)]]);
  page.counter(
    "tollgate_settlements_total",
    "Settled requests: committed, committed late (after the lease expired), or given up.",
    () => {
      const { committed, late, givenUp } = ledger().tallies;
      return [
        [committed, { how: "committed" }],
        [late, { how: "late" }],
        [givenUp, { how: "given_up" }],
      ];
    },
  );
  sum(
    "tollgate_settlements_retried_total",
    "Settlement attempts that the database did not accept.",
    (of) => of.retried,
  );
  sum(
    "tollgate_settlements_spooled_total",
    "Settlements written to the spool on disk because the database did not accept them.",
    (of) => of.spooled,
  );
  sum(
    "tollgate_settlements_unsafe_total",
    "Requests answered while neither database nor disk was available.",
    (of) => of.unsafe,
  );
  sum(
    "tollgate_settlements_short_microdollars_total",
    "Amount that late settlements could not charge because the account had too little credit.",
    (of) => toMicro(of.short),
  );
  sum(
    "tollgate_holds_expired_total",
    "Holds released because their gateway stopped renewing them.",
    (of) => of.expired,
  );
  page.gauge("tollgate_settlements_waiting", "Ended requests that are not in the ledger yet.", () => [
    [settlementsWaiting()],
  ]);

  page.counter(
    "tollgate_lock_waits_total",
    "Tries of ledger operations that failed because another transaction had locked an account.",
    () => Object.entries(ledger().batches).map(([batch, { lockWaits }]) => [lockWaits, { batch }]),
  );
  const ofBatches = (pick: "sizes" | "waitS" | "tripS") => () =>
    Object.entries(ledger().batches).map(([batch, figures]) => [figures[pick], { batch }] as const);
  page.histogram("tollgate_batch_size", "Number of ledger operations in a batch.", ofBatches("sizes"));
  page.histogram(
    "tollgate_batch_wait_seconds",
    "Time that a ledger operation waited for its batch to start.",
    ofBatches("waitS"),
  );
  page.histogram("tollgate_batch_seconds", "Duration of a batch of ledger operations.", ofBatches("tripS"));

  // Without a check there is no reading, because a zero would raise an alert.
  const ofVerdict = (value: (of: { at: Date; balanced: boolean }) => number) => (): MetricReading[] => {
    const last = verdict();
    return last === undefined ? [] : [[value(last)]];
  };
  page.gauge(
    "tollgate_books_balanced",
    "1 if the last ledger check found no difference, 0 if it found one.",
    ofVerdict(({ balanced }) => (balanced ? 1 : 0)),
    "min",
  );
  page.gauge(
    "tollgate_books_verdict_age_seconds",
    "Age of the last ledger check.",
    ofVerdict(({ at }) => Math.max(0, now() - at.getTime()) / 1000),
    "max",
  );
}

function tellOfChecks(page: MetricsPage, { checks }: MetricFacts): void {
  const sum = (name: string, help: string, read: (of: CheckFigures) => number): void =>
    page.counter(name, help, () => [[read(checks())]]);
  sum("tollgate_spot_checks_drawn_total", "Answers selected for a spot check.", ({ drawn }) => drawn);
  sum("tollgate_spot_checks_run_total", "Spot checks that verifiers completed.", ({ run }) => run);
  sum(
    "tollgate_spot_checks_dropped_total",
    "Spot checks that did not run, because no verifier was available, too many ran at once or the answer cannot be checked.",
    ({ dropped }) => dropped,
  );
  sum("tollgate_spot_checks_bad_total", "Spot checks that found a bad answer.", ({ bad }) => bad);
  sum(
    "tollgate_spot_checks_tokens_total",
    "Input and output tokens that verifiers processed in spot checks.",
    ({ tokens }) => tokens,
  );
  sum("tollgate_spot_checks_paid_microdollars_total", "Amount paid to verifiers for spot checks.", ({ pico: paid }) =>
    toMicro(pico(paid)),
  );
}

function tellOfHistory(page: MetricsPage, { months, rollupBacklog, now }: MetricFacts): void {
  const ofMonths = (pick: "kept" | "due") => (): MetricReading[] => {
    const found = months();
    return found === undefined ? [] : [[found[pick]]];
  };
  page.gauge("tollgate_history_months", "Months with request records.", ofMonths("kept"), "max");
  page.gauge(
    "tollgate_history_months_due",
    "Months whose request records are older than HISTORY_DAYS but not deleted yet.",
    ofMonths("due"),
    "max",
  );
  page.gauge(
    "tollgate_rollup_waiting",
    "Ended requests that are not in the usage rollups yet.",
    () => {
      const backlog = rollupBacklog();
      return backlog === undefined ? [] : [[backlog.requests]];
    },
    "max",
  );
  page.gauge(
    "tollgate_rollup_oldest_seconds",
    "Age of the oldest ended request that is not in the usage rollups yet.",
    () => {
      const backlog = rollupBacklog();
      if (backlog === undefined) return [];
      return [[backlog.oldest === null ? 0 : Math.max(0, now() - backlog.oldest.getTime()) / 1000]];
    },
    "max",
  );
}

function tellOfLosses(page: MetricsPage, { losses }: MetricFacts): void {
  const sum = (name: string, help: string, read: (of: LossFigures) => number): void =>
    page.counter(name, help, () => {
      const found = losses();
      return found === undefined ? [] : [[read(found)]];
    });
  sum("tollgate_history_lost_total", "Database failovers in which committed data was lost.", (of) => of.losses);
  sum(
    "tollgate_history_entered_total",
    "Charges and other changes that a failover lost and gateways replayed.",
    (of) => of.entered,
  );
  sum(
    "tollgate_history_missing_total",
    "Charges and other changes that a failover lost and gateways could not replay.",
    (of) => of.notEntered,
  );
  sum(
    "tollgate_database_refused_total",
    "Database connections rejected because the database is not the one used before, or is an older copy of it.",
    (of) => of.refused,
  );
  page.gauge(
    "tollgate_history_lost_timestamp_seconds",
    "Time at which the last failover that lost data was detected.",
    () => {
      const at = losses()?.lastAt;
      return at === undefined ? [] : [[at / 1000]];
    },
    "max",
  );
}
