/**
 * Counts requests by outcome, HTTP responses by route, and refused calls by error code. Clients cannot create label
 * values: models come from the catalogue, routes and codes from declarations.
 */
import { faults } from "@tollgate/api/faults.ts";
import { Histogram, LabelledCounts, ValuePerLabel } from "../../base/metric-counters.ts";
import type { Pico } from "../../base/money.ts";
import { type RequestOutcome, WITHHELD_REASONS } from "../../base/stored-enumerations.ts";
import type { EndedRequest, RequestObserver } from "../../inference/request-path-dependencies.ts";
import type { UnavailableCause } from "../../limits/limits.ts";
import type { HttpObserver } from "../http-call.ts";
import type { MetricReading, MetricsPage } from "./metrics-page.ts";

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const PICO_PER_MICRO = 1e6;
/** Separates the labels that are joined to one key. */
const GAP = "\n";
/** Outcomes of a request with a known model. */
const OUTCOMES: readonly RequestOutcome[] = [
  "ok",
  "upstream_failed",
  "upstream_stall",
  "no_capacity",
  "client_closed",
  "plane_lost",
  "gateway_stopped",
  "rate_limit_sku_capacity",
];
const CAUSES: readonly UnavailableCause[] = ["timeout", "disconnected", "error"];

interface ModelFigures {
  promptTokens: number;
  completionTokens: number;
  chargedMicro: number;
  queueS: Histogram;
  firstTokenS: Histogram;
  wholeS: Histogram;
}

const newModel = (): ModelFigures => ({
  promptTokens: 0,
  completionTokens: 0,
  chargedMicro: 0,
  queueS: new Histogram(SECONDS),
  firstTokenS: new Histogram(SECONDS),
  wholeS: new Histogram(SECONDS),
});

export interface TrafficMetrics {
  watch: RequestObserver;
  http: HttpObserver;
  limitsUnavailable: (cause: UnavailableCause) => void;
}

/** All series start at zero, because otherwise Prometheus would not see the first event as an increase. */
function countsOf(words: readonly string[]): LabelledCounts {
  const counts = new LabelledCounts();
  for (const word of words) counts.add(word, 0);
  return counts;
}

export function openTrafficMetrics(page: MetricsPage): TrafficMetrics {
  const requests = new ValuePerLabel(() => countsOf(OUTCOMES));
  const unread = new LabelledCounts();
  const models = new ValuePerLabel(newModel);
  const answers = new ValuePerLabel(() => new LabelledCounts());
  const refusals = countsOf(Object.entries(faults).map(([code, { status }]) => `${code}${GAP}${status}`));
  const unanswered = countsOf(CAUSES);
  const withheld = countsOf(WITHHELD_REASONS);

  /**
   * Converts counts to metric readings. The key of a count contains the values of several labels, separated by `GAP`.
   */
  const labelled = (counts: LabelledCounts, names: string[]) =>
    function* (): Generator<MetricReading> {
      for (const [words, count] of counts.entries()) {
        const values = words.split(GAP);
        yield [count, Object.fromEntries(names.map((name, i) => [name, values[i] ?? ""]))];
      }
    };
  const ofModels = (pick: (of: ModelFigures) => number) =>
    function* (): Generator<MetricReading> {
      for (const [model, figures] of models.entries()) yield [pick(figures), { model }];
    };
  const spread = (pick: "queueS" | "firstTokenS" | "wholeS") =>
    function* (): Generator<[Histogram, { model: string }]> {
      for (const [model, figures] of models.entries()) yield [figures[pick], { model }];
    };

  page.counter("tollgate_requests_total", "Requests that ended or were refused by a rate limit.", function* () {
    for (const [words, outcomes] of requests.entries()) {
      const [endpoint = "", model = ""] = words.split(GAP);
      for (const [outcome, count] of outcomes.entries()) yield [count, { endpoint, model, outcome }];
    }
    yield* labelled(unread, ["endpoint", "model", "outcome"])();
  });
  page.counter("tollgate_tokens_total", "Prompt and completion tokens of ended requests.", function* () {
    for (const [model, { promptTokens, completionTokens }] of models.entries()) {
      yield [promptTokens, { model, kind: "prompt" }];
      yield [completionTokens, { model, kind: "completion" }];
    }
  });
  page.counter(
    "tollgate_charged_microdollars_total",
    "Amount charged to builders.",
    ofModels(({ chargedMicro }) => chargedMicro),
  );
  page.histogram("tollgate_queue_seconds", "Time until a node accepted the request.", spread("queueS"));
  page.histogram("tollgate_first_token_seconds", "Time to first token.", spread("firstTokenS"));
  page.histogram("tollgate_request_seconds", "Duration of requests.", spread("wholeS"));
  page.counter("tollgate_http_answers_total", "HTTP responses of the public port.", function* () {
    for (const [status, counts] of answers.entries()) {
      for (const [count, labels] of labelled(counts, ["method", "route"])()) yield [count, { ...labels, status }];
    }
  });
  page.counter(
    "tollgate_refusals_total",
    "Errors returned to clients, by code.",
    labelled(refusals, ["code", "status"]),
  );
  page.counter(
    "tollgate_limits_unavailable_total",
    "Requests to the limits server (Valkey) that got no response.",
    labelled(unanswered, ["cause"]),
  );
  page.counter(
    "tollgate_shares_withheld_total",
    "Host shares of charges that this gateway withheld, by reason.",
    labelled(withheld, ["reason"]),
  );

  return {
    watch: {
      ended(request: EndedRequest): void {
        const { endpoint, outcome, model, queueMs, ttftMs } = request;
        requests.of(`${endpoint}${GAP}${model}`).add(outcome);
        const figures = models.of(model);
        figures.promptTokens += request.promptTokens;
        figures.completionTokens += request.completionTokens;
        figures.chargedMicro += toMicro(request.charge);
        if (queueMs !== null) figures.queueS.add(queueMs / 1000);
        if (ttftMs !== null) figures.firstTokenS.add(ttftMs / 1000);
        figures.wholeS.add(request.durationMs / 1000);
      },
      withheld: (reason, shares) => withheld.add(reason, shares),
      refused({ endpoint, model, outcome }): void {
        if (model === null) unread.add(`${endpoint}${GAP}${GAP}${outcome}`);
        else requests.of(`${endpoint}${GAP}${model}`).add(outcome);
      },
    },
    http: {
      answered: ({ method, route, status }) => answers.of(String(status)).add(`${method}${GAP}${route}`),
      refused: ({ code, type, status }) => refusals.add(`${code ?? type}${GAP}${status}`),
    },
    limitsUnavailable: (cause) => unanswered.add(cause),
  };
}

export const toMicro = (amount: Pico): number => Number(amount) / PICO_PER_MICRO;
