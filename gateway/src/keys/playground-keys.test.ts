import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { HOUR_MS } from "../base/time.ts";
import { type Broadcast, openBroadcast } from "../db/broadcast.ts";
import { DatabaseOutageGuard } from "../db/outage-guard.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { type ApiKeys, createApiKeyService } from "./api-keys.ts";
import { openPlaygroundKeys, type PlaygroundKeys } from "./playground-keys.ts";
import { ACTIVE_SECRETS_MAX } from "./secret-store.ts";

const newId = newIds(systemClock, systemRandom());
const log = createLog("silent");

describe("keys of the console's playground", () => {
  let db: TestDatabase;
  let broadcast: Broadcast;
  let clock: ManualClock;
  let keys: ApiKeys;
  let sessionKeys: PlaygroundKeys;
  let account: Uuid;
  let identity: Uuid;
  before(async () => {
    db = await openTestDatabase();
    clock = manualClock(Date.now());
    const { pool, connection } = db;
    const guard = new DatabaseOutageGuard({ connection, clock: systemClock, log, durability: "assumed" });
    broadcast = await openBroadcast({ pool, connection, guard, clock: systemClock, log });
    const options = {
      pool,
      pepper: "a pepper of tests, 32 characters or more",
      clock,
      random: systemRandom(),
      newId,
      log,
    };
    keys = createApiKeyService({ ...options, broadcast });
    sessionKeys = openPlaygroundKeys({ ...options, broadcast });
    [account, identity] = [await newAccount(), newId()];
    await pool.query("insert into identity (id, email, name) values ($1, 'ada@example.com', 'Ada')", [identity]);
    await pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [identity, account]);
  });
  after(async () => {
    await broadcast.close();
    await db.close();
  });

  const newAccount = async (): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [id]);
    return id;
  };
  const begin = async (lasting = "7 days"): Promise<Uuid> => {
    const id = newId();
    await db.pool.query(
      `insert into identity_session (id, identity_id, token, expires_at) values ($1::uuid, $2, $1::text, now() + $3::interval)`,
      [id, identity, lasting],
    );
    return id;
  };
  const works = async (token: string): Promise<boolean> => (await keys.authenticate(`Bearer ${token}`)) !== undefined;
  const issue = async (sessionId: Uuid, accountId = account) => {
    const issued = await sessionKeys.issue({ accountId, sessionId });
    assert.ok(issued !== undefined);
    return issued;
  };

  test("have reasoning in streams turned on, and the recording of request labels turned off", async () => {
    const { token } = await issue(await begin());
    const holder = await keys.authenticate(`Bearer ${token}`);
    assert.deepEqual([holder?.reasoningContent, holder?.labels], [true, false]);
  });

  test("exist once per session and account, and get a new secret at each request, even if requests are concurrent", async () => {
    const [session, other] = [await begin(), await begin()];
    const first = await issue(session);
    assert.ok(await works(first.token));
    const second = await issue(session);
    assert.equal(second.id, first.id);
    await eventually("the first is forgotten", async () => !(await works(first.token)));
    assert.ok(await works(second.token));
    assert.notEqual((await issue(other)).id, first.id);
    assert.notEqual((await issue(session, await newAccount())).id, first.id);
    const third = await begin();
    const many = await Promise.all(Array.from({ length: 8 }, () => issue(third)));
    assert.equal(new Set(many.map(({ id }) => id)).size, 1);
    assert.ok(await works(second.token), "the other sessions' keys are as they were");
  });

  test("belong to the account, and have a name and lower limits of their own", async () => {
    const { id, token } = await issue(await begin());
    const holder = await keys.authenticate(`Bearer ${token}`);
    assert.deepEqual([holder?.id, holder?.name, holder?.accountId], [id, "Playground", account]);
    assert.deepEqual(holder?.own, { requestsPerMinute: 60, tokensPerMinute: 500_000, inFlight: 4 });
  });

  test("are not listed or changed as keys of the account, and do not count for its limit", async () => {
    const owner = await newAccount();
    const { id, token } = await issue(await begin(), owner);
    assert.deepEqual(await keys.list(owner, { limit: 10 }), []);
    assert.equal(await keys.find(owner, id), undefined);
    await db.pool.query(
      `insert into api_key (id, account_id, name, reference, secret_hash)
       select gen_random_uuid(), $1, 'full', lpad(n::text, 12, '0'), sha256(n::text::bytea) from generate_series(1, $2::int) n`,
      [owner, ACTIVE_SECRETS_MAX.api_key - 1],
    );
    await keys.issue(owner, "the last");
    await assert.rejects(keys.issue(owner, "one too many"), { name: "TooManyOpen" });
    assert.ok(await issue(await begin(), owner));
    assert.ok(await works(token));
  });

  test("stop working at once when their session ends", async () => {
    const session = await begin();
    const { token } = await issue(session);
    assert.ok(await works(token));
    await db.pool.query("delete from identity_session where id = $1", [session]);
    await eventually("it no longer works", async () => !(await works(token)));
    assert.equal(await sessionKeys.issue({ accountId: account, sessionId: session }), undefined);
  });

  test("are not issued if their session ends at the same time", async () => {
    for (let i = 0; i < 10; i++) {
      const session = await begin();
      const [issued] = await Promise.all([
        sessionKeys.issue({ accountId: account, sessionId: session }),
        db.pool.query("delete from identity_session where id = $1", [session]),
      ]);
      if (issued !== undefined) await eventually("it ended", async () => !(await works(issued.token)));
    }
  });

  test("stop working for an account that the user leaves, and still work for other accounts", async () => {
    const [left, stayed] = [await newAccount(), await newAccount()];
    for (const id of [left, stayed]) {
      await db.pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [identity, id]);
    }
    const session = await begin();
    const [gone, good] = [await issue(session, left), await issue(session, stayed)];
    await db.pool.query("delete from account_owner where identity_id = $1 and account_id = $2", [identity, left]);
    await eventually("it no longer works", async () => !(await works(gone.token)));
    assert.ok(await works(good.token));
  });

  for (const role of ["billing", "viewer"]) {
    test(`stop working when the user becomes ${role}, and continue after a change to the role member`, async () => {
      const shared = await newAccount();
      const join = "insert into account_member (account_id, identity_id, role) values ($1, $2, 'member')";
      await db.pool.query(join, [shared, identity]);
      const { token } = await issue(await begin(), shared);
      const set = "update account_member set role = $3 where account_id = $1 and identity_id = $2";
      await db.pool.query(set, [shared, identity, "member"]);
      assert.ok(await works(token));
      await db.pool.query(set, [shared, identity, role]);
      const { rows } = await db.pool.query("select from api_key where account_id = $1 and revoked_at is null", [
        shared,
      ]);
      assert.deepEqual(rows, []);
      await eventually("it no longer works", async () => !(await works(token)));
    });
  }

  test("expire after 12 hours, or earlier when their session does", async () => {
    const [long, short] = [await issue(await begin()), await issue(await begin("1 hour"))];
    assert.ok(Math.abs(long.expiresAt.getTime() - Date.now() - 12 * HOUR_MS) < HOUR_MS / 2);
    assert.ok(Math.abs(short.expiresAt.getTime() - Date.now() - HOUR_MS) < HOUR_MS / 2);
    assert.equal(await sessionKeys.issue({ accountId: account, sessionId: await begin("-1 second") }), undefined);
    clock.advance(2 * HOUR_MS);
    assert.deepEqual([await works(long.token), await works(short.token)], [true, false]);
    clock.advance(11 * HOUR_MS);
    assert.equal(await works(long.token), false);
  });
});
