/** What the internal port tells of the traffic, for graphs and alarms. What was spent to the last digit is in the books. */
import prometheus from "prom-client";
import type { Pico } from "../base/money.ts";
import type { EndedRequest, Watch } from "../inference/gateway.ts";
import type { LedgerTallies } from "../ledger/ledger.ts";

interface MetricFacts {
  /** Connected nodes. */
  nodes: () => number;
  /** Requests that hold credit. */
  holds: () => number;
  models: () => Iterable<string>;
  capacityOf: (model: string) => { slots: number; busy: number };
  settlements: () => LedgerTallies;
  /** Ended requests that are not in the books yet. */
  settlementsWaiting: () => number;
}

export interface Metrics {
  watch: Watch;
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
  return { watch, page: async () => ({ contentType: registry.contentType, text: await registry.metrics() }) };
}

const micro = (amount: Pico): number => Number(amount) / PICO_PER_MICRO;
