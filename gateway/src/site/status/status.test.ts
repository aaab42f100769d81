import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Status as StatusSchema } from "@tollgate/api/public/status.ts";
import { manualClock } from "../../base/testing.ts";
import type { AvailabilitySum, Incident } from "../../history/availability.ts";
import type { PerformanceSum } from "../../history/performance.ts";
import { loadCatalogue } from "../../metering/catalogue.ts";
import { openTestPlatform, type TestPlatform } from "../../routes/testing/platform.ts";
import type { Status } from "./document.ts";
import { statusPage } from "./page.ts";
import { openStatus, type StatusParts } from "./status.ts";

const DAY = 86_400_000;
const { entries } = await loadCatalogue(new URL("../../../catalogue/models.json", import.meta.url));

/** A store that can be slow or away, and counts what it is asked. */
function world() {
  const clock = manualClock(Date.UTC(2026, 10, 15, 12));
  const today = new Date(Date.UTC(2026, 10, 15));
  const at = {
    clock,
    reads: 0,
    answer: (): Promise<void> => Promise.resolve(),
    nodes: 1,
    samples: [{ slot: today, model: "tiny-3b", samples: 720, up: 719 }] as AvailabilitySum[],
    incidents: [] as Incident[],
    requests: 19,
  };
  const asked = async <T>(value: T): Promise<T> => {
    at.reads += 1;
    await at.answer();
    return value;
  };
  const sum = (): PerformanceSum => ({
    slot: today,
    subject: null,
    key: null,
    model: "tiny-3b",
    requests: at.requests,
    ok: at.requests - 1,
    closed: 0,
    failed: 1,
    promptTokens: 0,
    completionTokens: 0,
    busyMs: 0,
    errorShare: 1 / at.requests,
    ttft: { p50: 180, p95: 400, p99: 500 },
    duration: { p50: 1, p95: 1, p99: 1 },
    tokensPerSecond: 41.52,
  });
  const parts: StatusParts = {
    door: { clock, log: { debug() {}, warn() {} } as unknown as StatusParts["door"]["log"] },
    catalogue: () => ({ entries, priceVersion: 1, active: new Map() }),
    nodes: {
      speedOf: () => ({ ttftMs: 171.6, tokensPerSecond: 40.04 }),
      capacityOf: () => ({ nodes: at.nodes, slots: 4, busy: 0 }),
    } as unknown as StatusParts["nodes"],
    performance: { sums: ({ from }) => asked(from.getTime() === today.getTime() ? [sum()] : []) },
    availability: {
      sums: ({ from }: { from: Date }) => asked(from.getTime() === today.getTime() ? at.samples : []),
      incidents: () => asked(at.incidents),
    } as unknown as StatusParts["availability"],
    status: { isPublic: true, sampleEveryMs: 60_000 },
  };
  return { ...at, at, current: openStatus(parts) };
}

const tiny = ({ models }: Status) => models.find(({ id }) => id === "tiny-3b") as Status["models"][number];

test("days, states and speeds of what is offered; shares and speeds from twenty requests on", async () => {
  const { at, clock, current } = world();
  const status = await current();
  StatusSchema.parse(status);
  assert.deepEqual(
    status.models.map(({ id }) => id),
    entries.filter((entry) => entry.status === "active").map(({ id }) => id),
  );
  const first = tiny(status);
  assert.deepEqual(first.now, { state: "available", ttft_p50_ms: 172, tokens_per_second: 40 });
  assert.deepEqual([first.days[0]?.day, first.days.at(-1)?.day], ["2026-08-18", "2026-11-15"]);
  assert.deepEqual(first.days.at(-1), {
    day: "2026-11-15",
    availability: 0.99861,
    failed_share: null,
    ttft_p50_ms: null,
    tokens_per_second: null,
  });
  assert.equal(first.days[0]?.availability, null);
  at.requests = 20;
  clock.advance(10_000);
  const then = tiny(await current()).days.at(-1);
  assert.deepEqual([then?.failed_share, then?.ttft_p50_ms, then?.tokens_per_second], [0.05, 180, 41.5]);
  const vectors = status.models.find(({ kind }) => kind === "embedding");
  assert.equal(vectors?.now.ttft_p50_ms, null, "an embedding comes whole");
});

test("errors that go on degrade a model, and without a node it is unavailable", async () => {
  const { at, clock, current } = world();
  const incident = { model: "tiny-3b", kind: "errors" as const, beganAt: new Date(clock.now() - DAY), endedAt: null };
  at.incidents = [incident, { ...incident, model: "not-offered" }];
  const status = await current();
  assert.equal(tiny(status).now.state, "degraded");
  assert.deepEqual(status.incidents, [
    { model: "tiny-3b", kind: "errors", from: Math.floor((clock.now() - DAY) / 1000), to: null },
  ]);
  at.incidents = [{ ...incident, endedAt: new Date(clock.now()) }];
  clock.advance(10_000);
  assert.equal(tiny(await current()).now.state, "available");
  at.nodes = 0;
  clock.advance(10_000);
  assert.equal(tiny(await current()).now.state, "unavailable");
});

test("a thousand callers cost what one does, and nobody asking costs nothing", async () => {
  const { at, clock, current } = world();
  const all = await Promise.all(Array.from({ length: 1000 }, () => current()));
  assert.equal(new Set(all).size, 1);
  assert.equal(at.reads, 5, "past and today by two sums each, and the incidents");
  clock.advance(9_999);
  assert.equal(await current(), all[0]);
  clock.advance(60_000);
  assert.equal(at.reads, 5);
  await Promise.all(Array.from({ length: 1000 }, () => current()));
  assert.equal(at.reads, 8, "the past is kept for a while");
});

test("while the store is away the last one is told, with its time; a store that hangs keeps nobody waiting", async () => {
  const { at, clock, current } = world();
  at.answer = () => Promise.reject(new Error("away"));
  const none = await current();
  StatusSchema.parse(none);
  assert.deepEqual([none.stale, tiny(none).availability], [true, null]);
  at.answer = () => Promise.resolve();
  clock.advance(10_000);
  const known = await current();
  assert.equal(known.stale, false);
  at.answer = () => Promise.reject(new Error("away"));
  clock.advance(10_000);
  const stale = await current();
  assert.deepEqual(stale, { ...known, stale: true });
  assert.match(statusPage(stale), /the last known status, from <time datetime="2026-11-15T12:00:10/);
  const hung = Promise.withResolvers<void>();
  at.answer = () => hung.promise;
  clock.advance(10_000);
  const waiting = current();
  clock.advance(2_000);
  assert.deepEqual([(await waiting).stale, (await current()).stale], [true, true]);
  hung.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  at.answer = () => Promise.resolve();
  clock.advance(10_000);
  assert.equal((await current()).stale, false);
});

test("the page says in words what its bars show", async () => {
  const { at, current, clock } = world();
  at.incidents = [
    {
      model: "tiny-3b",
      kind: "unavailable",
      beganAt: new Date(clock.now() - 7_200_000),
      endedAt: new Date(clock.now() - 3_300_000),
    },
    { model: "tiny-3b", kind: "errors", beganAt: new Date(clock.now()), endedAt: null },
  ];
  const page = statusPage(await current());
  assert.match(page, /1 of 6 models: tiny-3b degraded\./);
  assert.match(
    page,
    /aria-label="Availability of tiny-3b: below 100 % on 1 of 1 days, lowest on 2026-11-15 \(99\.86 %\)\."/,
  );
  assert.match(page, /2026-11-15 10:00 UTC.*2026-11-15 11:05 UTC.*1 h 5 min/);
  assert.match(page, /ongoing/);
  assert.equal(page.match(/<rect class="/g)?.length, 6 * 90);
  assert.doesNotMatch(page, /style="|onclick|<script>/);
});

describe("the doors of the status", () => {
  let platform: TestPlatform;
  before(async () => {
    platform = await openTestPlatform();
  });
  after(() => platform.close());

  test("anybody may read it, and who has it is told so", async () => {
    const answer = await platform.app.inject({ url: "/status.json" });
    assert.equal(answer.statusCode, 200);
    StatusSchema.parse(answer.json());
    assert.equal(answer.headers["cache-control"], "public, max-age=10");
    const etag = String(answer.headers.etag);
    const again = await platform.app.inject({ url: "/status.json", headers: { "if-none-match": etag } });
    assert.deepEqual([again.statusCode, again.body], [304, ""]);
    const page = await platform.app.inject({ url: "/status" });
    assert.equal(page.statusCode, 200);
    assert.match(String(page.headers["content-security-policy"]), /default-src 'none'/);
    const style = await platform.app.inject({ url: "/status/status.css" });
    assert.match(String(style.headers["content-type"]), /^text\/css/);
  });

  test("an operator can turn it off", async () => {
    const app = platform.serve({ status: { ...platform.parts.status, isPublic: false } });
    for (const url of ["/status", "/status.json"]) assert.equal((await app.inject({ url })).statusCode, 404);
    const { statusCode, payload } = await app.inject({ url: "/", headers: { accept: "text/html" } });
    assert.equal(statusCode, 200);
    assert.doesNotMatch(payload, /href="\/status"/);
    assert.equal((await app.inject({ url: "/" })).json().status_url, null);
  });
});
