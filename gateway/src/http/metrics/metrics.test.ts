import assert from "node:assert/strict";
import { test } from "node:test";
import { Histogram } from "../../base/metric-counters.ts";
import { pico } from "../../base/money.ts";
import { openMetrics } from "./metrics.ts";

test("the metrics page shows ended and refused requests as counters, and nodes and slots as gauges", async () => {
  let busy = 3;
  let verdict: { at: Date; balanced: boolean } | undefined;
  const figures = (...sizes: number[]) => {
    const made = { sizes: new Histogram([1, 8]), waitS: new Histogram([0.1]), tripS: new Histogram([0.1]) };
    for (const size of sizes) made.sizes.add(size);
    return { ...made, lockWaits: sizes.length };
  };
  const metrics = openMetrics();
  metrics.tellOf({
    about: { gateway: "gw1", version: "1.2.3" },
    isReady: () => true,
    waitingFor: () => 4,
    pool: () => ({ max: 10, total: 6, idle: 2, waiting: 1 }),
    nodes: () => 2,
    holds: () => 5,
    models: () => ["tiny-3b"],
    capacityOf: () => ({ slots: 8, busy }),
    dependencies: () => [
      { name: "database", isAway: true, latencyMs: 2, refused: 7 },
      { name: "plane", isAway: false, latencyMs: null },
    ],
    files: () => ({ open: 60, max: 1024 }),
    connectionLimits: () => [{ limit: "role", max: 40, used: 33 }],
    connectionsRefused: () => 4,
    databaseClock: () => ({ offsetMs: -1500, uncertaintyMs: 20 }),
    differing: () => ["pepper"],
    ledger: () => ({
      tallies: {
        committed: 7,
        late: 2,
        givenUp: 1,
        retried: 9,
        spooled: 4,
        unsafe: 3,
        short: pico(2_500_000n),
        expired: 6,
      },
      batches: { hold: figures(1, 2, 8, 9), settle: figures(), void: figures() },
    }),
    limitsEvict: () => true,
    checks: () => ({ drawn: 9, run: 6, dropped: 3, bad: 1, tokens: 700, pico: 2_500_000n }),
    settlementsWaiting: () => 11,
    spoolsLeft: () => 2,
    months: () => ({ kept: 9, due: 2 }),
    rollupBacklog: () => ({ requests: 12, oldest: new Date(96_000) }),
    verdict: () => verdict,
    losses: () => ({ losses: 1, lastAt: 90_000, entered: 247, notEntered: 2, refused: 14 }),
    now: () => 100_000,
    loopDelays: () => ({
      last: 0.01,
      min: 0.01,
      max: 0.3,
      mean: 0.02,
      stddev: 0.1,
      p50: 0.01,
      p90: 0.02,
      p99: 0.25,
    }),
  });
  const request = {
    endpoint: "chat",
    model: "tiny-3b",
    outcome: "ok",
    promptTokens: 10,
    completionTokens: 20,
    charge: pico(1_500_000n),
    queueMs: 2,
    ttftMs: 30,
    durationMs: 400,
  } as const;
  metrics.watch.ended(request);
  metrics.watch.ended({ ...request, charge: pico(500_000n) });
  metrics.watch.ended({ ...request, outcome: "upstream_failed", charge: pico(0n), queueMs: null, ttftMs: null });
  metrics.watch.refused({ endpoint: "chat", model: null, outcome: "rate_limit_requests" });
  metrics.watch.withheld("node_failed", 1);
  metrics.watch.withheld("spot_check", 12);
  metrics.limitsUnavailable("timeout");
  for (const status of [200, 200, 429]) {
    metrics.http.answered({ method: "POST", route: "/v1/chat/completions", status });
  }
  metrics.http.answered({ method: "GET", route: "", status: 404 });
  metrics.http.refused({ code: "rate_limit_requests", type: "rate_limit_error", status: 429 });
  metrics.http.refused({ code: undefined, type: "invalid_request_error", status: 404 });
  const told = async (): Promise<Map<string, string>> => {
    const { text, contentType } = await metrics.page();
    assert.match(contentType, /^text\/plain/);
    return new Map(text.split("\n").map((line) => line.split(/ (?=\S+$)/) as [string, string]));
  };
  const lines = await told();
  const expected: [string, number][] = [
    ['tollgate_requests_total{endpoint="chat",model="tiny-3b",outcome="ok"}', 2],
    ['tollgate_requests_total{endpoint="chat",model="tiny-3b",outcome="upstream_failed"}', 1],
    ['tollgate_requests_total{endpoint="chat",model="",outcome="rate_limit_requests"}', 1],
    ['tollgate_requests_total{endpoint="chat",model="tiny-3b",outcome="upstream_stall"}', 0],
    ['tollgate_requests_total{endpoint="chat",model="tiny-3b",outcome="rate_limit_sku_capacity"}', 0],
    ['tollgate_limits_unavailable_total{cause="timeout"}', 1],
    ['tollgate_limits_unavailable_total{cause="disconnected"}', 0],
    ['tollgate_tokens_total{model="tiny-3b",kind="prompt"}', 30],
    ['tollgate_tokens_total{model="tiny-3b",kind="completion"}', 60],
    ['tollgate_charged_microdollars_total{model="tiny-3b"}', 2],
    ['tollgate_first_token_seconds_count{model="tiny-3b"}', 2],
    ['tollgate_queue_seconds_sum{model="tiny-3b"}', 0.004],
    ['tollgate_request_seconds_bucket{le="0.25",model="tiny-3b"}', 0],
    ['tollgate_request_seconds_bucket{le="0.5",model="tiny-3b"}', 3],
    ["tollgate_nodes_connected", 2],
    ["tollgate_requests_in_flight", 5],
    ['tollgate_slots{model="tiny-3b"}', 8],
    ['tollgate_slots_busy{model="tiny-3b"}', 3],
    ['tollgate_setting_differs{setting="pepper"}', 1],
    ['tollgate_dependency_up{dependency="database"}', 0],
    ['tollgate_dependency_up{dependency="plane"}', 1],
    ['tollgate_dependency_latency_seconds{dependency="database"}', 0.002],
    ['tollgate_refused_away_total{dependency="database"}', 7],
    ['tollgate_refused_away_total{dependency="plane"}', 0],
    ["tollgate_limits_evict", 1],
    ['tollgate_database_connections{limit="role"}', 33],
    ['tollgate_database_connections_max{limit="role"}', 40],
    ['tollgate_lock_waits_total{batch="hold"}', 4],
    ['tollgate_lock_waits_total{batch="void"}', 0],
    ["tollgate_clock_offset_seconds", -1.5],
    ['tollgate_settlements_total{how="committed"}', 7],
    ['tollgate_settlements_total{how="late"}', 2],
    ['tollgate_settlements_total{how="given_up"}', 1],
    ["tollgate_settlements_retried_total", 9],
    ["tollgate_settlements_spooled_total", 4],
    ["tollgate_history_lost_total", 1],
    ["tollgate_history_entered_total", 247],
    ["tollgate_history_missing_total", 2],
    ["tollgate_history_lost_timestamp_seconds", 90],
    ["tollgate_database_refused_total", 14],
    ["tollgate_settlements_unsafe_total", 3],
    ["tollgate_settlements_short_microdollars_total", 2.5],
    ["tollgate_holds_expired_total", 6],
    ["tollgate_settlements_waiting", 11],
    ["tollgate_spools_left", 2],
    ['tollgate_shares_withheld_total{reason="node_failed"}', 1],
    ['tollgate_shares_withheld_total{reason="spot_check"}', 12],
    ['tollgate_shares_withheld_total{reason="node_silent"}', 0],
    ["tollgate_spot_checks_drawn_total", 9],
    ["tollgate_spot_checks_run_total", 6],
    ["tollgate_spot_checks_dropped_total", 3],
    ["tollgate_spot_checks_bad_total", 1],
    ["tollgate_spot_checks_tokens_total", 700],
    ["tollgate_spot_checks_paid_microdollars_total", 2.5],
    ["tollgate_rollup_waiting", 12],
    ["tollgate_rollup_oldest_seconds", 4],
    ['tollgate_build_info{gateway="gw1",version="1.2.3"}', 1],
    ["tollgate_ready", 1],
    ['tollgate_requests_queued{model="tiny-3b"}', 4],
    ['tollgate_http_answers_total{method="POST",route="/v1/chat/completions",status="200"}', 2],
    ['tollgate_http_answers_total{method="POST",route="/v1/chat/completions",status="429"}', 1],
    ['tollgate_http_answers_total{method="GET",route="",status="404"}', 1],
    ['tollgate_refusals_total{code="rate_limit_requests",status="429"}', 1],
    ['tollgate_refusals_total{code="invalid_request_error",status="404"}', 1],
    ['tollgate_refusals_total{code="internal_error",status="500"}', 0],
    ['tollgate_pool_connections{state="busy"}', 4],
    ['tollgate_pool_connections{state="idle"}', 2],
    ["tollgate_pool_connections_max", 10],
    ["tollgate_pool_waiting", 1],
    ["nodejs_eventloop_lag_seconds", 0.01],
    ["nodejs_eventloop_lag_max_seconds", 0.3],
    ["nodejs_eventloop_lag_p99_seconds", 0.25],
    ['tollgate_batch_size_bucket{le="1",batch="hold"}', 1],
    ['tollgate_batch_size_bucket{le="8",batch="hold"}', 3],
    ['tollgate_batch_size_bucket{le="+Inf",batch="hold"}', 4],
    ['tollgate_batch_size_sum{batch="hold"}', 20],
    ['tollgate_batch_size_count{batch="hold"}', 4],
  ];
  for (const [name, value] of expected) assert.equal(Number(lines.get(name)), value, name);
  assert.ok(!lines.has('tollgate_dependency_latency_seconds{dependency="plane"}'), "nothing travels to it");
  assert.ok(!lines.has("tollgate_books_balanced"), "nobody has proved the books yet");
  busy = 0;
  verdict = { at: new Date(40_000), balanced: false };
  const later = await told();
  assert.equal(later.get('tollgate_slots_busy{model="tiny-3b"}'), "0");
  assert.deepEqual(
    [later.get("tollgate_books_balanced"), later.get("tollgate_books_verdict_age_seconds")],
    ["0", "60"],
  );
});
