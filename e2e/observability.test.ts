/**
 * Tests the observability of a platform under load: the metrics that a real Prometheus scrapes, every alert and panel
 * of deploy/ evaluated on them, and the log line and trace of each request.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { makeKey, openBuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import {
  createDataDir,
  type Platform,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { openDatabase } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { fillVariables, formatLineName, readDashboards } from "../tools/dashboards/dashboards.ts";
import { Prometheus, skipWithoutPrometheus } from "./outside/prometheus.ts";

const DEPLOY = fileURLToPath(new URL("../deploy/", import.meta.url));
/** Intervals in seconds, shorter than Grafana's, because the test cannot wait that long. */
const INTERVALS = { rateS: 60, rangeS: 300 };
const PANELS = readDashboards().flatMap((dashboard) =>
  dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({
      ...{ name: `${dashboard.name}: ${title}`, expr, legendFormat },
      filled: fillVariables(dashboard, expr, INTERVALS),
    })),
  ),
);
/**
 * Expressions that have no values in this test, because the test platform receives no payment webhooks and refuses no
 * request for lack of capacity.
 */
const QUIET = [/webhooks\/stripe/, /no_capacity\|rate_limit_sku_capacity/];

/** Asserts that every line of every panel has all labels of its legend, and a name of its own. */
async function assertNamed(prometheus: Prometheus): Promise<void> {
  for (const unlabelled of ['tollgate_requests_total{model=""}', 'tollgate_http_answers_total{route=""}'])
    await eventually(unlabelled, async () => (await prometheus.now(unlabelled)).length > 0);
  const taken = new Set<string>();
  for (const { name, filled, legendFormat } of PANELS) {
    for (const { metric } of await prometheus.now(filled)) {
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(metric[label], `${name}: a line without ${label}`);
      const line = `${name}: ${formatLineName(legendFormat, metric)}`;
      assert.ok(!taken.has(line), `${line}, twice`);
      taken.add(line);
    }
  }
}

/** Returns the current values of a panel, by the names of its lines. */
async function figuresOf(prometheus: Prometheus, panel: string): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  for (const { filled, legendFormat } of PANELS.filter(({ name }) => name === panel))
    for (const { metric, value } of await prometheus.now(filled))
      figures[formatLineName(legendFormat, metric)] = Number(value[1]);
  return figures;
}

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code?: number };
  attributes: { key: string; value: { stringValue?: string } }[];
}

const STEPS = [
  "authenticate",
  "limits",
  "credit",
  "read and count",
  "model limit",
  "hold",
  "dispatch and relay",
  "settle",
];
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

describe("metrics, log lines and traces", () => {
  let dataDir: string;
  let platform: Platform;
  let internal: string;
  let collector: Server;
  /** A key whose limit allows no request. */
  let barredKey: string;
  const spans: Span[] = [];
  /** The IDs of the requests, by their outcome. */
  const asked: Record<string, string> = {};

  before(async () => {
    collector = createServer(async (request, response) => {
      const { resourceSpans } = JSON.parse(Buffer.concat(await request.toArray()).toString());
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
      response.setHeader("content-type", "application/json").end("{}");
    });
    collector.listen(0, "127.0.0.1");
    await once(collector, "listening");
    dataDir = await createDataDir();
    // Checks the ledger before the platform starts, because the gateway then reports the result at once. Later results
    // are read only once a minute.
    await openDatabase(dataDir);
    const check = runTollgate(["admin", "ledger", "check", "--data", dataDir]);
    assert.equal(await check.ended, 0, check.output());
    platform = await startPlatform(dataDir, ["--engine", "scripted"], {
      LOG_LEVEL: "debug",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "100",
    });
    const log = await readFile(join(dataDir, "gateway.log"), "utf8");
    internal = `127.0.0.1:${/"internalPort":(\d+)/.exec(log)?.[1]}`;
    const account = await openBuilderAccount(platform.query, 1_000_000_000_000n);
    barredKey = (await makeKey(platform.query, account, { requests: 0 })).token;
  });
  after(async () => {
    await platform?.stop();
    collector?.close();
    await removeDataDir(dataDir);
  });

  const load = async (): Promise<void> => {
    const remember = async (what: string, answer: Response): Promise<void> => {
      await readText(answer);
      asked[what] = answer.headers.get("x-request-id") ?? assert.fail("no id");
    };
    await remember("ok", await sendScriptedChat(platform, { tokens: 5 }));
    await remember("stream", await sendScriptedChat(platform, { tokens: 5 }, { stream: true }));
    await remember("failed", await sendScriptedChat(platform, { tokens: 5, fail_after: 2 }));
    await remember("wrong", await sendScriptedChat(platform, {}, { model: "no-such-model" }));
    const stranger = { ready: { ...platform.ready, api_key: "tsk_live_nobody" } };
    await remember("stranger", await sendScriptedChat(stranger, {}));
    // A request that is refused early has no model, and one for an unknown path has no route. The charts' lines for
    // these requests must have names too.
    const barred = { ready: { ...platform.ready, api_key: barredKey } };
    await (await sendScriptedChat(barred, {})).text();
    await (await fetch(`${platform.ready.gateway_url}/nowhere`)).text();
  };
  const page = async (): Promise<string> => (await fetch(`http://${internal}/metrics`)).text();

  test("each request has one log line, which contains neither prompt nor output", async () => {
    await load();
    const lines = await eventually("every line is written", async () => {
      const text = await readFile(join(dataDir, "gateway.log"), "utf8");
      const parsed = text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      const found = Object.entries(asked).map(([what, id]) => ({
        what,
        of: parsed.filter(({ request }) => request === id),
      }));
      return found.every(({ of }) => of.some(({ outcome }) => outcome !== undefined)) && found;
    });
    for (const { what, of } of lines) assert.equal(of.filter(({ outcome }) => outcome !== undefined).length, 1, what);
    const line = (what: string) =>
      lines.find((one) => one.what === what)?.of.find(({ outcome }) => outcome !== undefined) ?? {};
    for (const [what, level, outcome, status] of [
      ["ok", 20, "ok", 200],
      ["stream", 20, "ok", 200],
      ["failed", 30, "upstream_failed", 502],
      ["wrong", 30, "model_not_found", 404],
      ["stranger", 30, "invalid_api_key", 401],
    ] as const) {
      const told = line(what);
      assert.deepEqual([told.level, told.outcome, told.status], [level, outcome, status], what);
      assert.equal(typeof told.durationMs, "number");
      assert.match(String(told.instance), /^[0-9a-z]{26}$/);
      assert.match(String(told.version), /^\d+\.\d+\.\d+$/);
    }
    for (const what of ["ok", "failed"]) {
      const told = line(what);
      assert.match(String(told.account), /^acc_/);
      assert.match(String(told.key), /^key_/);
      assert.match(String(told.node), /^node_/);
      assert.equal(told.model, "tiny-3b");
      for (const number of ["promptTokens", "completionTokens", "attempts", "queueMs", "ttftMs"]) {
        assert.equal(typeof told[number], "number", number);
      }
    }
    assert.equal(line("stranger").key, undefined);
  });

  test("each request has a trace with a span per step, as part of the client's trace", async () => {
    const response = await fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.ready.api_key}`, traceparent: `00-${TRACE}-${PARENT}-01` },
      body: JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "hello" }] }),
    });
    assert.equal(response.status, 200);
    await readText(response);
    const whole = await eventually("it is collected", () =>
      spans.find(({ traceId, name }) => traceId === TRACE && name === "chat"),
    );
    assert.equal(whole.parentSpanId, PARENT);
    const attribute = (key: string) => whole.attributes.find((one) => one.key === `tollgate.${key}`)?.value.stringValue;
    assert.equal(attribute("request"), response.headers.get("x-request-id"));
    assert.equal(attribute("outcome"), "ok");
    const steps = spans.filter(({ parentSpanId }) => parentSpanId === whole.spanId);
    assert.deepEqual(
      steps.map(({ name }) => name),
      [...STEPS, "answer"],
    );

    const ofRequest = (what: string) =>
      spans.find(({ attributes }) => attributes.some(({ value }) => value.stringValue === asked[what]));
    const failed = await eventually("so is the one that failed", () => ofRequest("failed"));
    assert.equal(failed.status.code, 2);
    const stranger = await eventually("and that of a stranger", () => ofRequest("stranger"));
    assert.deepEqual(
      spans.filter(({ parentSpanId }) => parentSpanId === stranger.spanId).map(({ name }) => name),
      ["authenticate"],
    );
    const line = await eventually("the log has its line", async () =>
      (await readFile(join(dataDir, "gateway.log"), "utf8")).split("\n").find((text) => text.includes(TRACE)),
    );
    assert.match(line, /"msg":"request ended"/);
  });

  test("the gateway exports every metric that alerts and dashboards use", async () => {
    const text = await page();
    const told = new Set(
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = "", type]) =>
        type === "histogram" || type === "summary" ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
    const rules = readFileSync(join(DEPLOY, "prometheus/alerts.yml"), "utf8");
    const expressions = [...rules.matchAll(/expr: >-\n +(.*)$/gm)].map(([, expr]) => String(expr));
    assert.ok(expressions.length > 20 && PANELS.length > 50, "rules and panels were read");
    const used = new Set(
      [...expressions, ...PANELS.map(({ expr }) => expr)].flatMap(
        (expr) => expr.match(/\b(tollgate|nodejs|process)_\w+/g) ?? [],
      ),
    );
    assert.ok(used.size > 30);
    assert.deepEqual(
      [...used].filter((name) => !told.has(name)),
      [],
    );
  });

  test("no metric label contains an account, key, node or address, and the number of series is small", async () => {
    const text = await page();
    assert.doesNotMatch(text, /(acc|key|node|req|usr)_[0-9a-z]{26}/);
    assert.doesNotMatch(text, /no-such-model/);
    assert.match(
      text,
      /^tollgate_http_answers_total\{method="POST",route="\/v1\/chat\/completions",status="401"\} 1$/m,
    );
    assert.match(text, /^tollgate_refusals_total\{code="model_not_found",status="404"\} 1$/m);
    assert.match(text, /^tollgate_batch_size_count\{batch="settle"\} [1-9]\d*$/m);
    assert.ok(text.split("\n").filter((line) => /^tollgate_/.test(line)).length < 1_000);
  });

  test("a real Prometheus accepts the metrics, rules and panels, and returns values for them", {
    skip: skipWithoutPrometheus,
  }, async () => {
    // Nothing listens at the second address.
    const prometheus = await Prometheus.open({ targets: { "gateway-1": internal, "gateway-2": "127.0.0.1:1" } });
    try {
      const rules = await eventually("every rule was looked at", async () => {
        const all = await prometheus.rules();
        return all.length > 20 && all.every(({ health }) => health !== "unknown") && all;
      });
      for (const { name, health, lastError } of rules) assert.equal(health, "ok", `${name}: ${lastError}`);
      const target = await eventually(
        "it scrapes",
        async () => (await prometheus.now('up{job="tollgate"} == 1')).length === 1,
      );
      assert.ok(target);
      // Waits for rates, which need traffic between two scrapes.
      const missing = new Set(PANELS.filter(({ expr }) => !QUIET.some((quiet) => quiet.test(expr))));
      await eventually("every panel has figures", async () => {
        await load();
        for (const panel of missing) if ((await prometheus.now(panel.filled)).length > 0) missing.delete(panel);
        return missing.size === 0;
      }).catch((error) => {
        throw new Error(`${error.message}: ${[...missing].map(({ name, expr }) => `${name} ${expr}`).join("\n")}`);
      });
      await assertNamed(prometheus);
      // Retries, because a late scrape leaves a gap until the next one.
      await eventually("one of two gateways is shown as ready", async () =>
        isDeepStrictEqual(await figuresOf(prometheus, "overview: Gateways ready"), { ready: 1, of: 2 }),
      );
    } finally {
      await prometheus.close();
    }
  });
});
