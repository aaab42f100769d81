import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually, failIfHung } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { type Broadcast, openBroadcast } from "../db/broadcast.ts";
import { DatabaseOutageGuard } from "../db/outage-guard.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { type ApiKeys, createApiKeyService } from "./api-keys.ts";
import { openHostTokenService } from "./secret-store.ts";

const newId = newIds(systemClock, systemRandom());
const log = createLog("silent");
const pepper = "a pepper of tests, 32 characters or more";

describe("API keys", () => {
  let db: TestDatabase;
  let broadcasts: Broadcast[];
  let clock: ManualClock;
  let account: Uuid;
  /** Two gateways on one database. */
  let here: ApiKeys;
  let there: ApiKeys;
  before(async () => {
    db = await openTestDatabase();
    clock = manualClock();
    const { pool, connection } = db;
    const guard = new DatabaseOutageGuard({ connection, clock: systemClock, log, durability: "assumed" });
    const open = () => openBroadcast({ pool, connection, guard, clock: systemClock, log });
    broadcasts = [await open(), await open()];
    const options = { pool: db.pool, pepper, clock, random: systemRandom(), newId, log };
    here = createApiKeyService({ ...options, broadcast: broadcasts[0] as Broadcast });
    there = createApiKeyService({ ...options, broadcast: broadcasts[1] as Broadcast });
    account = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [account]);
  });
  after(async () => {
    await Promise.all(broadcasts.map((broadcast) => broadcast.close()));
    await db.close();
  });

  let marks = 0;
  /**
   * Resolves once the second gateway has received a new message of the first. Messages keep their order, so it then has
   * all earlier ones too.
   */
  const allHeard = async (): Promise<void> => {
    const [from, to] = broadcasts as [Broadcast, Broadcast];
    const topic = `mark-${marks++}`;
    const heard = new Promise<void>((resolve) => to.on(topic, () => resolve()));
    await from.send(topic, "");
    await failIfHung("the second gateway hears the mark", heard);
  };

  const newAccount = async (): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'another')", [id]);
    return id;
  };

  test("have the documented format, authenticate, and are stored only as hashes", async () => {
    const { id, token } = await here.issue(account, "first");
    assert.match(token, /^tsk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
    assert.deepEqual(await here.authenticate(`Bearer ${token}`), {
      id,
      name: "first",
      accountId: account,
      overrides: { requestsPerMinute: null, tokensPerMinute: null, inFlight: null },
      own: { requestsPerMinute: null, tokensPerMinute: null, inFlight: null },
      models: null,
      until: null,
      spotChecks: true,
      labels: false,
      reasoningContent: false,
    });
    assert.ok(await here.authenticate(`bearer   ${token} `), "the scheme is not case-sensitive");
    const { rows } = await db.pool.query("select row_to_json(k)::text as row from api_key k where id = $1", [id]);
    assert.ok(!rows[0].row.includes(token.slice(-43)));
  });

  test("are refused with the same response for every kind of invalid token", async () => {
    const { token } = await here.issue(account, "x");
    const hostToken = await openHostTokenService({
      pool: db.pool,
      pepper,
      clock,
      random: systemRandom(),
      newId,
      log,
      broadcast: broadcasts[0] as Broadcast,
    }).issue(account, "h");
    const wrongSecret = `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`;
    for (const header of [
      undefined,
      "",
      token,
      `Basic ${token}`,
      "Bearer",
      "Bearer x",
      `Bearer ${wrongSecret}`,
      `Bearer ${hostToken.token}`,
      `Bearer ${token} ${token}`,
    ]) {
      assert.equal(await here.authenticate(header), undefined, header);
    }
    const other = createApiKeyService({
      pool: db.pool,
      pepper: `${pepper}!`,
      clock,
      random: systemRandom(),
      newId,
      log,
      broadcast: broadcasts[0] as Broadcast,
    });
    assert.equal(await other.authenticate(`Bearer ${token}`), undefined, "another pepper opens nothing");
  });

  test("are cached for a minute, and refused by every gateway as soon as they are revoked", async () => {
    const { id, token } = await here.issue(account, "revoked");
    assert.ok(await here.authenticate(`Bearer ${token}`));
    assert.ok(await there.authenticate(`Bearer ${token}`));
    assert.equal(await here.revoke(account, id), true);
    assert.equal(await here.authenticate(`Bearer ${token}`), undefined);
    await eventually(
      "the other gateway has heard",
      async () => (await there.authenticate(`Bearer ${token}`)) === undefined,
    );
    assert.equal(await here.revoke(account, id), false, "once");
    // The call above notified the gateways of a change. Reads that are in progress when the message arrives are not
    // cached.
    await allHeard();

    const quiet = await here.issue(account, "quiet");
    assert.ok(await there.authenticate(`Bearer ${quiet.token}`));
    await db.pool.query("update api_key set revoked_at = now() where id = $1", [quiet.id]);
    clock.advance(59_000);
    assert.ok(await there.authenticate(`Bearer ${quiet.token}`), "nobody was told");
    clock.advance(1_001);
    assert.equal(await there.authenticate(`Bearer ${quiet.token}`), undefined, "the bound holds without the broadcast");
  });

  test("can be listed, renamed and revoked only by their own account", async () => {
    const [mine, other] = [await newAccount(), await newAccount()];
    const first = await here.issue(mine, "first");
    const second = await here.issue(mine, "second");
    const foreign = await here.issue(other, "foreign");
    assert.deepEqual(
      (await here.list(mine, { limit: 10 })).map(({ id, name }) => [id, name]),
      [
        [second.id, "second"],
        [first.id, "first"],
      ],
    );
    const shown = await here.find(mine, first.id);
    assert.equal(shown?.reference, first.token.slice(9, 21));
    assert.ok(!JSON.stringify(shown).includes(first.token.slice(-43)));
    assert.equal(await here.find(mine, foreign.id), undefined);
    assert.equal(await here.rename(mine, foreign.id, "mine now"), false);
    assert.equal(await here.revoke(mine, foreign.id), false);
    assert.ok(await here.authenticate(`Bearer ${foreign.token}`));

    await there.authenticate(`Bearer ${first.token}`);
    assert.equal(await here.rename(mine, first.id, "renamed"), true);
    await eventually("the name", async () => (await there.authenticate(`Bearer ${first.token}`))?.name === "renamed");
    assert.equal(await here.revoke(mine, first.id), true);
    assert.equal(await here.rename(mine, first.id, "too late"), false);
    assert.ok((await here.find(mine, first.id))?.revokedAt instanceof Date);
  });

  test("apply limits that an operator changes, and the suspension of their account, on every gateway", async () => {
    const owner = await newAccount();
    const { id, token } = await here.issue(owner, "limited");
    await there.authenticate(`Bearer ${token}`);
    const limits = { requestsPerMinute: 5, tokensPerMinute: null, inFlight: 1 };
    assert.ok(await here.setLimits(id, limits));
    await eventually(
      "the limits",
      async () => (await there.authenticate(`Bearer ${token}`))?.overrides?.requestsPerMinute === 5,
    );
    assert.deepEqual((await here.find(owner, id))?.limits, limits);
    await db.pool.query("update account set suspended_at = now() where id = $1", [owner]);
    await broadcasts[0]?.send("account", owner);
    await eventually("the suspension", async () => (await there.authenticate(`Bearer ${token}`)) === undefined);
  });

  test("are read from the database again after the connection for broadcasts was lost", async () => {
    const { id, token } = await here.issue(account, "gap");
    assert.ok(await there.authenticate(`Bearer ${token}`));
    await db.pool.query("update api_key set revoked_at = now() where id = $1", [id]);
    const admin = new pg.Client(db.connection);
    await admin.connect();
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tollgate broadcast' and datname = current_database()",
    );
    await admin.end();
    await eventually("it forgot", async () => (await there.authenticate(`Bearer ${token}`)) === undefined);
  });

  test("are refused for a suspended account, carry their own limits, and record their last use in batches", async () => {
    const suspended = newId();
    await db.pool.query("insert into account (id, kind, name, suspended_at) values ($1, 'builder', 's', now())", [
      suspended,
    ]);
    assert.equal(await here.authenticate(`Bearer ${(await here.issue(suspended, "s")).token}`), undefined);

    const { id, token } = await here.issue(account, "limited");
    await db.pool.query(
      "update api_key set requests_per_minute_max = 5, tokens_per_minute_max = 9000000000 where id = $1",
      [id],
    );
    const holder = await here.authenticate(`Bearer ${token}`);
    assert.deepEqual(holder?.overrides, { requestsPerMinute: 5, tokensPerMinute: 9_000_000_000, inFlight: null });
    clock.advance(10_000);
    const usedAt = await eventually("the last use is written", async () => {
      const { rows } = await db.pool.query("select last_used_at from api_key where id = $1", [id]);
      return (rows[0].last_used_at as Date | null) ?? undefined;
    });
    assert.ok(Math.abs(usedAt.getTime() - (clock.now() - 10_000)) < 1000);
  });

  test("apply settings that their owner changes on every gateway, and are refused after they expire", async () => {
    const { id, token } = await here.create(account, { name: "set", by: null, settings: { models: ["tiny-3b"] } });
    assert.deepEqual((await there.authenticate(`Bearer ${token}`))?.models, ["tiny-3b"]);
    const ownLimits = { requestsPerMinute: 3, tokensPerMinute: null, inFlight: 1 };
    const expiresAt = new Date(clock.now() + 30_000);
    assert.equal(await here.change(account, id, { models: null, ownLimits, expiresAt }), true);
    const heard = await eventually("the other gateway heard of it", async () => {
      const holder = await there.authenticate(`Bearer ${token}`);
      return holder?.models === null && holder;
    });
    assert.deepEqual([heard.own, heard.until], [ownLimits, expiresAt.getTime()]);
    clock.advance(30_000);
    for (const gateway of [here, there]) assert.equal(await gateway.authenticate(`Bearer ${token}`), undefined);
    assert.equal(await here.change(await newAccount(), id, { name: "not theirs" }), false);
  });

  test("get a new secret on rotation, and accept the previous one until the given time", async () => {
    const { id, token: first } = await here.create(account, { name: "rotated", by: null });
    const second = await here.rotate(account, id, 60_000);
    assert.equal((await here.authenticate(`Bearer ${first}`))?.id, id);
    assert.equal((await here.authenticate(`Bearer ${second}`))?.id, id);
    const third = await here.rotate(account, id, 3_600_000);
    assert.equal(await here.authenticate(`Bearer ${first}`), undefined, "a key has two secrets at most");
    assert.equal((await here.authenticate(`Bearer ${second}`))?.id, id);
    clock.advance(3_600_000);
    assert.equal(await here.authenticate(`Bearer ${second}`), undefined);
    assert.equal((await here.authenticate(`Bearer ${third}`))?.id, id);
    const last = await here.rotate(account, id, 0);
    assert.equal(await here.authenticate(`Bearer ${third}`), undefined);
    assert.ok(await here.authenticate(`Bearer ${last}`));
    await here.revoke(account, id);
    assert.equal(await here.rotate(account, id, 0), undefined);
  });
});
