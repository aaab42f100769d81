import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Status as StatusSchema } from "@tollgate/api/public/status.ts";
import type { Outage } from "../../base/dependency.ts";
import type { Uuid } from "../../base/ids.ts";
import { manualClock } from "../../base/testing.ts";
import type { AvailabilitySum, Incident as ModelIncident } from "../../history/model-availability.ts";
import type { PerformanceSum } from "../../history/performance-reader.ts";
import { loadCatalogue } from "../../metering/catalogue.ts";
import type { Incident } from "../../operators/incidents/incident-records.ts";
import { openTestPlatform, type TestPlatform } from "../../routes/testing/platform.ts";
import { incidentFeed } from "./incident-feed.ts";
import type { Status } from "./status-document.ts";
import { statusPage } from "./status-page.ts";
import { openStatusReader, type StatusParts } from "./status-reader.ts";

const DAY = 86_400_000;
const { entries } = await loadCatalogue(new URL("../../../catalogue/models.json", import.meta.url));

const ACTIVE = new Map(entries.filter((entry) => entry.status === "active").map((entry) => [entry.id, entry])) as never;

const incident = (more: Partial<Incident>): Incident => ({
  id: "0199a000-0000-7000-8000-000000000000" as Uuid,
  model: "tiny-3b",
  state: "down",
  cause: "no_capacity",
  beganAt: new Date(0),
  endedAt: null,
  updates: [],
  ...more,
});

/** A simulated database that can be slow or unreachable, and counts its queries. */
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
    failing: [] as ModelIncident[],
    outages: [] as Outage[],
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
    catalogue: () => ({ entries, priceVersion: 1, active: ACTIVE }),
    nodes: {
      speedOf: () => ({ ttftMs: 171.6, tokensPerSecond: 40.04 }),
      capacityOf: () => ({ nodes: at.nodes, slots: 4, busy: 0 }),
    } as unknown as StatusParts["nodes"],
    performance: { sums: ({ from }) => asked(from.getTime() === today.getTime() ? [sum()] : []) },
    availability: {
      sums: ({ from }: { from: Date }) => asked(from.getTime() === today.getTime() ? at.samples : []),
      incidents: () => asked(at.failing),
    } as unknown as StatusParts["availability"],
    incidents: { list: () => asked(at.incidents) } as unknown as StatusParts["incidents"],
    outages: { now: () => at.outages, stop() {} },
    status: { isPublic: true, sampleEveryMs: 60_000 },
  };
  return { ...at, at, current: openStatusReader(parts) };
}

const tiny = ({ models }: Status) => models.find(({ id }) => id === "tiny-3b") as Status["models"][number];

test("the public status lists the days, state and speed of each offered model; percentages and speeds only from 20 requests on", async () => {
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

test("the public status shows a model and the platform as degraded after lasting errors, and as down without a node", async () => {
  const { at, clock, current } = world();
  const failing = { model: "tiny-3b", kind: "errors" as const, beganAt: new Date(clock.now() - DAY), endedAt: null };
  at.failing = [failing, { ...failing, model: "not-offered" }];
  const status = await current();
  const since = Math.floor((clock.now() - DAY) / 1000);
  assert.deepEqual([tiny(status).now.state, status.state, status.since], ["degraded", "degraded", since]);
  at.failing = [{ ...failing, endedAt: new Date(clock.now()) }];
  clock.advance(10_000);
  const after = await current();
  assert.deepEqual([tiny(after).now.state, after.state, after.since], ["available", "serving", null]);
  at.nodes = 0;
  clock.advance(10_000);
  const empty = await current();
  assert.deepEqual([tiny(empty).now.state, empty.state], ["unavailable", "down"]);
});

test("the public status describes incidents in words for the public, with operators' notes", async () => {
  const { at, clock, current } = world();
  const [beganAt, posted] = [new Date(clock.now() - DAY), new Date(clock.now() - DAY / 2)];
  at.incidents = [
    incident({ model: null, cause: "plane", beganAt, updates: [{ at: posted, text: "We are on it." }] }),
    incident({ model: "not-offered", beganAt }),
  ];
  const status = await current();
  StatusSchema.parse(status);
  assert.equal(status.incidents.length, 1);
  const [{ id: _, ...told } = {}] = status.incidents;
  assert.deepEqual(told, {
    model: null,
    state: "down",
    kind: "internal",
    from: Math.floor(beganAt.getTime() / 1000),
    to: null,
    updates: [{ at: Math.floor(posted.getTime() / 1000), text: "We are on it." }],
  });
  assert.doesNotMatch(JSON.stringify(status), /plane/);
  assert.match(
    incidentFeed(status, "https://x.test/status"),
    /<title>No requests were served: a part of the platform failed<\/title><updated>2026-11-15T00:00:00Z<.*We are on it\./s,
  );
});

test("the public status needs the same number of queries for one caller as for a thousand, and none without callers", async () => {
  const { at, clock, current } = world();
  const all = await Promise.all(Array.from({ length: 1000 }, () => current()));
  assert.equal(new Set(all).size, 1);
  assert.equal(at.reads, 7, "past and today by two sums each, models served lately, what fails, and the incidents");
  clock.advance(9_999);
  assert.equal(await current(), all[0]);
  clock.advance(60_000);
  assert.equal(at.reads, 7);
  await Promise.all(Array.from({ length: 1000 }, () => current()));
  assert.equal(at.reads, 12, "the past is kept for a while");
});

test("the public status shows the last known state with its time, without delay, while the database is unreachable", async () => {
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
  assert.deepEqual(stale, { ...known, as_of: known.as_of + 10, stale: true });
  assert.match(statusPage(stale), /the last known ones, from <time datetime="2026-11-15T12:00:10.*1 min ago/);
  at.outages = [{ part: "database", since: clock.now() + 3_000, isNeeded: true }];
  clock.advance(10_000);
  const down = await current();
  assert.deepEqual([down.state, down.since, down.at], ["down", known.as_of + 13, known.at]);
  assert.ok(down.models.every(({ now }) => now.state === "unavailable"));
  assert.match(statusPage(down), /Down: no requests can be served\..*Since <time datetime="2026-11-15T12:00:23/s);
  at.outages = [];
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

test("the status page has a text alternative for its bar graphs", async () => {
  const { at, current, clock } = world();
  at.incidents = [
    incident({ state: "degraded", cause: "errors", beganAt: new Date(clock.now()) }),
    incident({ beganAt: new Date(clock.now() - 7_200_000), endedAt: new Date(clock.now() - 3_300_000) }),
  ];
  at.failing = [{ model: "tiny-3b", kind: "errors", beganAt: new Date(clock.now()), endedAt: null }];
  const page = statusPage(await current());
  assert.match(page, /1 of 6 models: tiny-3b degraded\./);
  assert.match(
    page,
    /aria-label="Availability of tiny-3b: below 100 % on 1 of 1 days, lowest on 2026-11-15 \(99\.86 %\)\."/,
  );
  assert.match(page, /2026-11-15 10:00 UTC.*2026-11-15 11:05 UTC.*1 h 5 min/);
  assert.match(page, /Ongoing incidents.*tiny-3b: many requests failed.*to <strong>now/s);
  assert.match(page, /Degraded: some requests cannot be served\./);
  assert.equal(page.match(/<rect class="/g)?.length, 6 * 90);
  assert.doesNotMatch(page, /style="|onclick|<script>/);
});

describe("status routes", () => {
  let platform: TestPlatform;
  before(async () => {
    platform = await openTestPlatform();
  });
  after(() => platform.close());

  test("are open to everyone, and support conditional requests", async () => {
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
    assert.deepEqual((await platform.app.inject({ url: "/console/api/status" })).json(), answer.json());
    const feed = await platform.app.inject({ url: "/status.atom" });
    assert.match(String(feed.headers["content-type"]), /^application\/atom\+xml/);
    assert.match(feed.body, /^<\?xml.*<title>Status<\/title>/s);
    const style = await platform.app.inject({ url: "/status/status.css" });
    assert.match(String(style.headers["content-type"]), /^text\/css/);
  });

  test("can be turned off by an operator", async () => {
    const app = platform.serve({ status: { ...platform.parts.status, isPublic: false } });
    for (const url of ["/status", "/status.json", "/status.atom", "/console/api/status"])
      assert.equal((await app.inject({ url })).statusCode, 404);
    const { statusCode, payload } = await app.inject({ url: "/", headers: { accept: "text/html" } });
    assert.equal(statusCode, 200);
    assert.doesNotMatch(payload, /href="\/status"/);
    assert.equal((await app.inject({ url: "/" })).json().status_url, null);
  });
});
