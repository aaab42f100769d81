/** What the internal port tells of the traffic, for graphs and alarms. What was spent to the last digit is in the books. */
import prometheus from "prom-client";
import type { Dependency } from "../base/dependency.ts";
import type { Pico } from "../base/money.ts";
import type { EndedRequest, Watch } from "../inference/gateway.ts";
import type { LedgerTallies } from "../ledger/ledger.ts";
import type { UnavailableCause } from "../limits/limits.ts";

interface MetricFacts {
  /** Connected nodes. */
  nodes: () => number;
  /** Requests that hold credit. */
  holds: () => number;
  models: () => Iterable<string>;
  capacityOf: (model: string) => { slots: number; busy: number };
  dependencies: () => readonly Dependency[];
  /** How far the database's clock is ahead of ours; null while they were not compared. */
  clockOffsetMs: () => number | null;
  settlements: () => LedgerTallies;
  /** Ended requests that are not in the books yet. */
  settlementsWaiting: () => number;
  /** The last verdict on the books, whoever gave it; undefined while there is none. */
  verdict: () => { at: Date; balanced: boolean } | undefined;
  now: () => number;
}

export interface Metrics {
  watch: Watch;
  limitsUnavailable: (cause: UnavailableCause) => void;
  page: () => Promise<{ contentType: string; text: string }>;
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const PICO_PER_MICRO = 1e6;

export function openMetrics(facts: MetricFacts): Metrics {
  const registry = new prometheus.Registry();
  const registers = [registry];
  prometheus.collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, collect: (gauge: prometheus.Gauge) => void, labelNames: string[] = []) =>
    new prometheus.Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        collect(this);
      },
    });
  gauge("tollgate_nodes_connected", "Nodes connected to this gateway.", (it) => it.set(facts.nodes()));
  gauge("tollgate_requests_in_flight", "Requests that hold credit now.", (it) => it.set(facts.holds()));
  const ofModels = (pick: "slots" | "busy") => (it: prometheus.Gauge) => {
    for (const model of facts.models()) it.set({ model }, facts.capacityOf(model)[pick]);
  };
  gauge("tollgate_slots", "Requests that the connected nodes of a model take at once.", ofModels("slots"), ["model"]);
  gauge("tollgate_slots_busy", "Those of them that are taken.", ofModels("busy"), ["model"]);

  tellOfDependencies(facts, { gauge, registers });

  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new prometheus.Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string) =>
    new prometheus.Histogram({ name, help, labelNames: ["model"], buckets: SECONDS, registers });
  const requests = counter("tollgate_requests_total", "Requests that ended or were refused for a limit.", [
    "endpoint",
    "model",
    "outcome",
  ]);
  const tokens = counter("tollgate_tokens_total", "Tokens counted, of requests that ended.", ["model", "kind"]);
  const charged = counter("tollgate_charged_microdollars_total", "What builders were charged.", ["model"]);
  const queued = histogram("tollgate_queue_seconds", "Time until a node took the request.");
  const firstToken = histogram("tollgate_first_token_seconds", "Time from the request to its first token.");
  const whole = histogram("tollgate_request_seconds", "Time from the request to its end.");
  const unanswered = counter("tollgate_limits_unavailable_total", "Questions that the limits server did not answer.", [
    "cause",
  ]);
  const limitsUnavailable = (cause: UnavailableCause): void => unanswered.inc({ cause });

  // What the ledger counts itself, read when somebody asks.
  const tally = <Label extends string>(
    name: string,
    help: string,
    read: (it: prometheus.Counter<Label>, of: LedgerTallies) => void,
    labelNames: Label[] = [],
  ) =>
    new prometheus.Counter<Label>({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        read(this, facts.settlements());
      },
    });
  tally(
    "tollgate_settlements_total",
    "Ended requests: in the books, there after their lease had run out, or given up.",
    (it, { committed, late, givenUp }) => {
      it.inc({ how: "committed" }, committed);
      it.inc({ how: "late" }, late);
      it.inc({ how: "given_up" }, givenUp);
    },
    ["how"],
  );
  tally("tollgate_settlements_retried_total", "Tries of settlements that the store did not take.", (it, of) =>
    it.inc(of.retried),
  );
  tally("tollgate_settlements_spooled_total", "Settlements that waited on the disk for the store.", (it, of) =>
    it.inc(of.spooled),
  );
  tally("tollgate_settlements_unsafe_total", "Requests answered with store and disk away.", (it, of) =>
    it.inc(of.unsafe),
  );
  tally("tollgate_settlements_short_microdollars_total", "What late settlements could not collect.", (it, of) =>
    it.inc(micro(of.short)),
  );
  tally("tollgate_holds_expired_total", "Holds that this gateway ended with their lease.", (it, of) =>
    it.inc(of.expired),
  );
  gauge("tollgate_settlements_waiting", "Ended requests that are not in the books yet.", (it) =>
    it.set(facts.settlementsWaiting()),
  );

  const ofVerdict = (value: (verdict: { at: Date; balanced: boolean }) => number) => (it: prometheus.Gauge) => {
    const verdict = facts.verdict();
    // A zero would be an alarm where nobody has looked yet.
    if (verdict === undefined) it.remove();
    else it.set(value(verdict));
  };
  gauge(
    "tollgate_books_balanced",
    "1 where the last proof of the books found no difference, 0 where it found one.",
    ofVerdict(({ balanced }) => (balanced ? 1 : 0)),
  );
  gauge(
    "tollgate_books_verdict_age_seconds",
    "How long ago the books were last proved.",
    ofVerdict(({ at }) => Math.max(0, facts.now() - at.getTime()) / 1000),
  );

  const watch = {
    ended(request: EndedRequest): void {
      const { endpoint, outcome, model } = request;
      requests.inc({ endpoint, model, outcome });
      tokens.inc({ model, kind: "prompt" }, request.promptTokens);
      tokens.inc({ model, kind: "completion" }, request.completionTokens);
      charged.inc({ model }, micro(request.charge));
      if (request.queueMs !== null) queued.observe({ model }, request.queueMs / 1000);
      if (request.ttftMs !== null) firstToken.observe({ model }, request.ttftMs / 1000);
      whole.observe({ model }, request.durationMs / 1000);
    },
    refused: ({ endpoint, model, outcome }: { endpoint: string; model: string | null; outcome: string }): void =>
      requests.inc({ endpoint, model: model ?? "", outcome }),
  };
  const page = async () => ({ contentType: registry.contentType, text: await registry.metrics() });
  return { watch, limitsUnavailable, page };
}

interface Tools {
  gauge: (name: string, help: string, collect: (gauge: prometheus.Gauge) => void, labelNames?: string[]) => void;
  registers: prometheus.Registry[];
}

function tellOfDependencies({ dependencies, clockOffsetMs }: MetricFacts, { gauge, registers }: Tools): void {
  const ofEach = (pick: (one: Dependency) => number | null) => (it: prometheus.Gauge) => {
    for (const one of dependencies()) {
      const value = pick(one);
      if (value !== null) it.set({ dependency: one.name }, value);
    }
  };
  const label = ["dependency"];
  gauge(
    "tollgate_dependency_up",
    "1 where it answers, 0 while it is away.",
    ofEach((one) => (one.isAway ? 0 : 1)),
    label,
  );
  gauge(
    "tollgate_dependency_latency_seconds",
    "The last measured round trip to it.",
    ofEach(({ latencyMs }) => (latencyMs === null ? null : latencyMs / 1000)),
    label,
  );
  new prometheus.Counter({
    name: "tollgate_refused_away_total",
    help: "Asks that were refused at once because what they need was away.",
    labelNames: label,
    registers,
    collect() {
      this.reset();
      for (const { name, refused = 0 } of dependencies()) this.inc({ dependency: name }, refused);
    },
  });
  gauge("tollgate_clock_offset_seconds", "How far the database's clock is ahead of this machine's.", (it) => {
    const offsetMs = clockOffsetMs();
    if (offsetMs !== null) it.set(offsetMs / 1000);
  });
}

const micro = (amount: Pico): number => Number(amount) / PICO_PER_MICRO;
