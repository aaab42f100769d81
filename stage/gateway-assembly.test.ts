/**
 * Tests the assembly of a gateway from its parts (`gateway/src/assemble/`), which tests of single parts do not cover.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openTestMailbox } from "../gateway/src/accounts/testing/mail-server.ts";
import { DAY_MS, HOUR_MS } from "../gateway/src/base/time.ts";
import { findValkeyServer, type TestValkeyServer } from "../gateway/src/limits/testing-limits.ts";
import { openHostAccount } from "./builder-and-host-accounts.ts";
import { type NatsPlane, skipWithoutNats } from "./dispatch-planes.ts";
import { type InProcessStage, openStage } from "./stage.ts";
import { eventually, failIfHung, hangSignal } from "./wait.ts";

const skipWithoutValkey = findValkeyServer() === undefined && "neither valkey-server nor redis-server is installed";
/** How often the gateway looks for pending email, in milliseconds. */
const UPKEEP_MS = 5_000;
/** How often the gateway samples which models it can serve, in milliseconds. */
const SEEN_EVERY_MS = 10_000;
/** How often the gateway deletes old records of nodes, in milliseconds. */
const RECORDS_SWEEP_MS = DAY_MS / 4;

interface Ready {
  status: string;
  dependencies: Record<string, "up" | "away">;
}

async function readyOf({ gateway }: InProcessStage): Promise<Ready & { code: number }> {
  const response = await fetch(`${gateway.internalUrl}/readyz`);
  return { code: response.status, ...((await response.json()) as Ready) };
}

describe("the gateway's readiness check", () => {
  for (const [whenAway, code] of [
    ["refuse", 503],
    ["local", 200],
  ] as const) {
    test(`returns ${code} while the limits server is unreachable and LIMITS_WHEN_AWAY is ${whenAway}`, {
      skip: skipWithoutValkey,
    }, async (t) => {
      const env = { LIMITS_WHEN_AWAY: whenAway };
      const stage = await openStage({ as: "in-process", limits: "valkey", clock: "running", env });
      t.after(() => stage.close());
      assert.equal((await readyOf(stage)).code, 200);
      await (stage.shared.valkey as TestValkeyServer).kill();
      await eventually("the gateway notices", async () => (await readyOf(stage)).dependencies.limits === "away");
      assert.equal((await readyOf(stage)).code, code);
    });
  }

  test("returns 503 while the NATS server is unreachable", { skip: skipWithoutNats }, async (t) => {
    const stage = await openStage({ as: "in-process", plane: "nats", clock: "running" });
    t.after(() => stage.close());
    assert.equal((await readyOf(stage)).code, 200);
    await (stage.shared.nats as NatsPlane).server.kill();
    await eventually("the gateway notices", async () => (await readyOf(stage)).dependencies.plane === "away");
    assert.equal((await readyOf(stage)).code, 503);
    await (stage.shared.nats as NatsPlane).server.start();
    await eventually("the gateway is back", async () => (await readyOf(stage)).code === 200);
  });
});

test("a draining gateway ends the console's live streams at once, even if requests may run for another hour", async (t) => {
  const stage = await openStage({ as: "in-process" });
  t.after(() => stage.close());
  const headers = { "sec-fetch-site": "same-origin", "content-type": "application/json", cookie: "" };
  const post = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${stage.baseUrl}/console/api/${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    assert.ok(response.ok, await response.text());
    const cookies = response.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
    if (cookies.length > 0) headers.cookie = cookies.join("; ");
  };
  await post("auth/sign-up/email", { name: "Ada", email: "ada@example.test", password: "correct horse battery" });
  await post("accounts", { kind: "builder", name: "Ada's" });
  const page = await fetch(`${stage.baseUrl}/console/api/live`, { headers, signal: hangSignal() });
  assert.equal(page.status, 200);
  const text = page.text();
  await failIfHung("the gateway drains", stage.gateway.drain({ delayMs: 0, graceMs: HOUR_MS }));
  assert.match(await text, /^retry: 2000\n/);
});

test("the gateway deletes node records and spot checks after 90 days", async (t) => {
  const stage = await openStage({ as: "in-process" });
  t.after(() => stage.close());
  const { account } = await openHostAccount(stage.query);
  await stage.query("insert into node (id, account_id, name, state) values (gen_random_uuid(), $1, 'barn', 'ready')", [
    account,
  ]);
  await stage.query(
    `insert into node_record select id, $1::timestamptz - make_interval(days => d), 1, 0, 0, 0, 0
       from node, unnest(array[80, 91]) d`,
    [new Date(stage.clock.now())],
  );
  await stage.query(
    `insert into spot_check (id, request_id, node_id, verifier_id, model, method, class, tokens, verdict, calibrates, read_tokens, cost_pico, at)
     select gen_random_uuid(), gen_random_uuid(), id, id, 'tiny-3b', 'text', 'warm-long', 9, 'ok', false, 9, 9,
            $1::timestamptz - make_interval(days => d)
       from node, unnest(array[80, 91]) d`,
    [new Date(stage.clock.now())],
  );
  stage.clock.advance(RECORDS_SWEEP_MS);
  for (const table of ["node_record where hour", "spot_check where at"]) {
    const old = async () =>
      (await stage.query(`select 1 from ${table} < $1`, [new Date(stage.clock.now() - 85 * DAY_MS)])).length;
    await eventually(`${table} is pruned`, async () => (await old()) === 0);
  }
  assert.equal((await stage.query("select 1 from spot_check")).length, 1);
});

test("the gateway sends pending email during its periodic maintenance", async (t) => {
  const mailbox = await openTestMailbox();
  t.after(() => mailbox.close());
  const env = {
    SMTP_URL: mailbox.url,
    MAIL_FROM: "tollgate@example.test",
    PUBLIC_URL: "https://tollgate.example.test",
  };
  const stage = await openStage({ as: "in-process", env });
  t.after(() => stage.close());
  await stage.query(
    `with somebody as (insert into identity (id, email, name) values (gen_random_uuid(), 'ada@example.test', 'Ada') returning id),
     opened as (insert into account (id, kind, name) values (gen_random_uuid(), 'builder', 'Ada') returning id),
     event as (insert into notification (id, account_id, kind, about, data, listed, created_at)
               select gen_random_uuid(), id, 'email', '1', '{"subject": "Low credit", "text": "Buy some."}', false, now()
                 from opened returning id, account_id)
     insert into notification_delivery (notification_id, account_id, channel, identity_id, next_at, created_at)
     select event.id, account_id, 'email', somebody.id, now(), now() from event, somebody`,
  );
  stage.clock.advance(UPKEEP_MS);
  const { to, text } = await failIfHung("the email comes", mailbox.next());
  assert.deepEqual(to, ["ada@example.test"]);
  assert.match(text, /Buy some\./);
});

test("the gateway records an incident when a model has had no node for a minute, and ends it when a node is back", async (t) => {
  const stage = await openStage({ as: "in-process" });
  t.after(() => stage.close());
  const incidents = async () => {
    stage.clock.advance(SEEN_EVERY_MS);
    const response = await fetch(`${stage.baseUrl}/status.json`);
    return ((await response.json()) as { incidents: { model: string | null; to: number | null }[] }).incidents;
  };
  const node = await stage.node({ models: ["tiny-3b"] });
  // Waits until the model was served once: a model that no node ever served has no incident.
  await eventually("the node is sampled", async () => {
    await incidents();
    return (await stage.query("select 1 from model_minute where up")).length > 0;
  });
  await node.stop();
  const [open] = await eventually("the incident begins", async () => {
    const found = await incidents();
    return found.length > 0 && found;
  });
  assert.equal(open?.to, null);
  await stage.node({ models: ["tiny-3b"] });
  await eventually("the incident ends", async () => (await incidents()).every(({ to }) => to !== null));
});
