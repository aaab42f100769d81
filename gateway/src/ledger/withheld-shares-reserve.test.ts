/**
 * Withheld shares, the reserve that receives them, and granted credit, on a real database. The ledger check runs after
 * every test.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import type { WithheldReason } from "../base/stored-enumerations.ts";
import { computeHostShare, timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openPayoutBatches } from "../operators/payouts.ts";
import { checkLedger } from "./check.ts";
import { openHostMoneyReader } from "./host-money.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import type { Settlement } from "./settlement-sql.ts";
import { createTestHold, createTestSettlement, newId, TEST_CHARGE } from "./testing.ts";
import { openWithheldSharesReserve, type WithheldSharesReserve } from "./withheld-shares-reserve.ts";

const SHARE = computeHostShare(TEST_CHARGE);
const HOUR_MS = 3_600_000;

interface Served {
  builder: Uuid;
  host: Uuid;
  node: Uuid;
}

describe("the reserve of withheld host shares", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let reserve: WithheldSharesReserve;
  before(async () => {
    db = await openTestDatabase();
    ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: HOUR_MS });
    reserve = openWithheldSharesReserve({ pool: db.pool });
    await db.pool.query(
      "insert into price (version, model, price_in_pico, price_out_pico) values (1, 'tiny-3b', 20000, 40000)",
    );
    await ledger.expire();
  });
  afterEach(async () => {
    const wrong = (await checkLedger(db.pool)).flatMap(({ name, differences }) =>
      differences.map((d) => `${name}: ${d}`),
    );
    assert.deepEqual(wrong, []);
  });
  after(() => db.close());

  const open = async (kind: "builder" | "host", owner?: Uuid): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [id, kind]);
    await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (owner !== undefined)
      await db.pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [owner, id]);
    return id;
  };
  const move = (kind: "grant" | "purchase" | "refund", accountId: Uuid, amount: bigint): Promise<unknown> =>
    ledger.transfer({ id: newId(), kind, accountId, amount: pico(amount), reason: "test" });
  const identity = async (): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into identity (id, email, name) values ($1, $2, 'A')", [id, `${id}@example.test`]);
    return id;
  };
  /** Creates a builder with bought credit, and a host with a node. Both belong to `owner` if it is given. */
  const parties = async ({
    owner,
    bought = 100n * TEST_CHARGE,
  }: {
    owner?: Uuid;
    bought?: bigint;
  } = {}): Promise<Served> => {
    const [builder, host, node] = [await open("builder", owner), await open("host", owner), newId()];
    if (bought > 0n) await move("purchase", builder, bought);
    await db.pool.query("insert into node (id, account_id, name, state) values ($1, $2, 'a node', 'ready')", [
      node,
      host,
    ]);
    return { builder, host, node };
  };
  const ended = async ({ builder, host, node }: Served, withheld?: WithheldReason): Promise<Settlement> => {
    const order = createTestHold(builder, TEST_CHARGE);
    assert.deepEqual(await ledger.hold(order), { kind: "held" });
    const settlement = { ...createTestSettlement(order, withheld === undefined ? host : null), nodeId: node };
    return withheld === undefined ? settlement : { ...settlement, withheld: { hostId: host, reason: withheld } };
  };
  const serve = async (served: Served, withheld?: WithheldReason): Promise<Uuid> => {
    const settlement = await ended(served, withheld);
    assert.equal(await ledger.settle(settlement), "settled");
    return settlement.id;
  };
  const balance = async (id: Uuid): Promise<bigint> => (await ledger.balance(id))?.balance ?? 0n;
  const book = async (kind: "reserve" | "platform"): Promise<bigint> => {
    const { rows } = await db.pool.query("select balance::text from ledger_book where kind = $1", [kind]);
    return BigInt(rows[0]?.balance);
  };
  const moved = async (run: () => Promise<unknown>): Promise<{ reserve: bigint; platform: bigint }> => {
    const [held, kept] = [await book("reserve"), await book("platform")];
    await run();
    return { reserve: (await book("reserve")) - held, platform: (await book("platform")) - kept };
  };
  const granted = async (id: Uuid): Promise<bigint> => {
    const { rows } = await db.pool.query("select granted from ledger_account where id = $1", [id]);
    return rows[0].granted;
  };
  const grantedPart = async (id: Uuid): Promise<bigint> => {
    const { rows } = await db.pool.query("select granted_pico from request where id = $1", [id]);
    return rows[0].granted_pico;
  };

  test("receives the host's share of a charge when the share is withheld", async () => {
    const served = await parties();
    let id: Uuid | undefined;
    const books = await moved(async () => {
      id = await serve(served, "node_failed");
    });
    assert.deepEqual(books, { reserve: SHARE, platform: TEST_CHARGE - SHARE });
    assert.equal(await balance(served.builder), 99n * TEST_CHARGE);
    assert.equal(await balance(served.host), 0n);
    const [line] = await reserve.list({ hostId: served.host, limit: 10 });
    assert.equal(line?.requestId, id);
    assert.deepEqual(
      [line?.amount, line?.reason, line?.takenBack, line?.nodeName],
      [SHARE, "node_failed", false, "a node"],
    );
    const money = await openHostMoneyReader({ pool: db.pool, holdDays: 7 })(served.host);
    assert.deepEqual([money.pending, money.withheld], [0n, SHARE]);
  });

  test("receives only the withheld shares of a batch of settlements, each once", async () => {
    const served = await parties();
    const batch = await Promise.all([
      ended(served),
      ended(served, "node_silent"),
      ended(served),
      ended(served, "node_failed"),
    ]);
    const books = await moved(async () => {
      assert.deepEqual(await Promise.all(batch.map((one) => ledger.settle(one))), Array(4).fill("settled"));
    });
    assert.deepEqual(books, { reserve: 2n * SHARE, platform: 4n * (TEST_CHARGE - SHARE) });
    assert.equal(await balance(served.host), 2n * SHARE);
    const again = await moved(async () => {
      assert.deepEqual(await Promise.all(batch.map((one) => ledger.settle(one))), Array(4).fill("repeated"));
    });
    assert.deepEqual(again, { reserve: 0n, platform: 0n });
    const reasons = (await reserve.list({ nodeId: served.node, limit: 10 })).map(({ reason }) => reason);
    assert.deepEqual(reasons.toSorted(), ["node_failed", "node_silent"]);
  });

  test("receives the host's share of the amount that a late settlement could collect", async () => {
    const served = await parties();
    const settlement = await ended(served, "node_silent");
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [settlement.id]);
    assert.equal(await ledger.expire(), 1);
    const books = await moved(async () => assert.equal(await ledger.settle(settlement), "late"));
    assert.deepEqual(books, { reserve: SHARE, platform: TEST_CHARGE - SHARE });
    assert.equal(await ledger.settle(settlement), "repeated");
  });

  test("pays a released share to its host once", async () => {
    const served = await parties();
    const id = await serve(served, "no_first_token");
    const release = () => reserve.release({ requestIds: [id] }, { by: "operator:o", note: "our fault" });
    const books = await moved(async () => assert.deepEqual(await release(), { shares: 1, amount: SHARE }));
    assert.deepEqual(books, { reserve: -SHARE, platform: 0n });
    assert.deepEqual(await release(), { shares: 0, amount: 0n });
    assert.equal(await balance(served.host), SHARE);
    const [line] = await reserve.list({ hostId: served.host, limit: 10 });
    assert.deepEqual([line?.releasedBy, line?.note], ["operator:o", "our fault"]);
    assert.deepEqual(await reserve.list({ hostId: served.host, open: true, limit: 10 }), []);
  });

  test("releases all withheld shares of a node together, and none of another node", async () => {
    const [one, other] = [await parties(), await parties()];
    for (const served of [one, one, other]) await serve(served, "node_failed");
    const released = await reserve.release({ nodeId: one.node }, { by: "operator:o", note: "" });
    assert.deepEqual(released, { shares: 2, amount: 2n * SHARE });
    assert.equal(await balance(one.host), 2n * SHARE);
    assert.equal(await balance(other.host), 0n);
  });

  test("takes back a node's shares earned since a given time, only once, and counts them as withheld, not as held back", async () => {
    const served = await parties();
    await serve(served);
    const { rows } = await db.pool.query("select clock_timestamp() + interval '1 millisecond' as at");
    const since = rows[0].at as Date;
    const later = async (): Promise<Uuid> => {
      for (;;) {
        const id = newId();
        if (Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16) > since.getTime()) return id;
      }
    };
    for (let i = 0; i < 2; i++) {
      const order = { ...createTestHold(served.builder, TEST_CHARGE), id: await later() };
      await ledger.hold(order);
      await ledger.settle({ ...createTestSettlement(order, served.host), nodeId: served.node });
    }
    const money = openHostMoneyReader({ pool: db.pool, holdDays: 7 });
    assert.equal((await money(served.host)).heldBack, 3n * SHARE);
    const books = await moved(async () =>
      assert.deepEqual(await reserve.withhold(served.node, since, "spot_check"), { shares: 2, amount: 2n * SHARE }),
    );
    assert.deepEqual(books, { reserve: 2n * SHARE, platform: 0n });
    assert.deepEqual(await reserve.withhold(served.node, since, "spot_check"), { shares: 0, amount: 0n });
    assert.equal(await balance(served.host), SHARE);
    const after = await money(served.host);
    assert.deepEqual([after.pending, after.heldBack, after.withheld], [SHARE, SHARE, 2n * SHARE]);
    assert.ok((await reserve.list({ hostId: served.host, limit: 10 })).every(({ takenBack }) => takenBack));

    await reserve.release({ nodeId: served.node }, { by: "operator:o", note: "a false alarm" });
    assert.deepEqual((await money(served.host)).heldBack, 3n * SHARE);
    assert.deepEqual(await reserve.withhold(served.node, since, "spot_check"), { shares: 0, amount: 0n });
  });

  test("takes back no more than the host's balance, and no share that a payout includes", async () => {
    const served = await parties();
    for (let i = 0; i < 3; i++) await serve(served);
    await db.pool.query("select ledger_transfer($1, 'payout', $2, $3, 'paid')", [
      newId(),
      served.host,
      (SHARE * 3n) / 2n,
    ]);
    const all = new Date(0);
    assert.deepEqual(await reserve.withhold(served.node, all, "spot_check"), { shares: 1, amount: SHARE });
    assert.equal(await balance(served.host), SHARE / 2n);

    const promised = await parties();
    await serve(promised);
    const payouts = openPayoutBatches({ pool: db.pool, newId, holdDays: 0 });
    await payouts.create({ note: "", by: "o", minimum: pico(1n) });
    assert.deepEqual(await reserve.withhold(promised.node, all, "spot_check"), { shares: 0, amount: 0n });
    assert.deepEqual(await reserve.withhold(newId(), all, "spot_check"), { shares: 0, amount: 0n }, "no such node");
  });

  test("appears in a payout as the sum of the shares withheld from that host", async () => {
    const served = await parties();
    await serve(served);
    await serve(served, "node_failed");
    const payouts = openPayoutBatches({ pool: db.pool, newId, holdDays: 0 });
    await payouts.create({ note: "", by: "o", minimum: pico(1n) });
    const [line] = await payouts.ofHost(served.host, { limit: 1 });
    assert.deepEqual([line?.amount, line?.withheld], [SHARE, SHARE]);
  });

  const owe = (hostId: Uuid, amount: bigint, transferId = newId()): Promise<unknown> =>
    db.pool.query("insert into spot_check_due (host_id, transfer_id, amount_pico) values ($1, $2, $3)", [
      hostId,
      transferId,
      amount.toString(),
    ]);

  test("pays a verifier once, from the reserve first and then from the platform's share", async () => {
    const served = await parties();
    const empty = await book("reserve");
    await serve(served, "node_failed");
    const verifier = await open("host");
    const all = empty + SHARE;
    await owe(verifier, all);
    const paid = async () =>
      (await Promise.all([reserve.payChecks(), reserve.payChecks()])).reduce((a, b) => a + b, 0n);
    const fromReserve = await moved(async () => assert.equal(await paid(), all));
    assert.deepEqual(fromReserve, { reserve: -all, platform: 0n });
    assert.equal(await paid(), 0n);
    await owe(verifier, 5n);
    const fromPlatform = await moved(async () => assert.equal(await paid(), 5n));
    assert.deepEqual(fromPlatform, { reserve: 0n, platform: -5n });
    assert.equal(await balance(verifier), all + 5n);
    const released = await moved(() => reserve.release({ nodeId: served.node }, { by: "operator:o", note: "" }));
    assert.deepEqual(released, { reserve: 0n, platform: -SHARE }, "what the reserve spent, the platform pays");
  });

  test("pays a verifier only the unpaid rest if an earlier payment was lost in a failover and entered again", async () => {
    const [verifier, lost] = [await open("host"), newId()];
    await owe(verifier, 30n, lost);
    await reserve.payChecks();
    await owe(verifier, 42n, lost);
    assert.equal(await reserve.payChecks(), 12n);
    await owe(verifier, 30n, lost);
    assert.equal(await reserve.payChecks(), 0n);
    assert.equal(await balance(verifier), 42n);
  });

  test("pays a verifier from the platform's share without waiting while another transaction locks the reserve", async () => {
    await serve(await parties(), "node_failed");
    await owe(await open("host"), 5n);
    const other = await db.pool.connect();
    try {
      await other.query("begin");
      await other.query("select from ledger_reserve for update");
      assert.deepEqual(await moved(() => reserve.payChecks()), { reserve: 0n, platform: -5n });
    } finally {
      await other.query("rollback");
      other.release();
    }
  });

  test("refuses manual changes, deletions and second releases of a withheld share", async () => {
    const served = await parties();
    const id = await serve(served, "node_failed");
    await reserve.release({ requestIds: [id] }, { by: "operator:o", note: "" });
    for (const change of [
      "update withheld_share set amount_pico = 1",
      "update withheld_share set note = 'x'",
      "delete from withheld_share",
    ])
      await assert.rejects(db.pool.query(`${change} where request_id = $1`, [id]), /append only/, change);
    await assert.rejects(db.pool.query("truncate withheld_share"), /append only/);
  });

  test("is verified by the ledger check, which reports wrong shares, releases and granted credit", async () => {
    const served = await parties();
    const id = await serve(served, "node_failed");
    const found = async (sql: string, undo: string): Promise<string[]> => {
      const run = async (text: string): Promise<void> => {
        for (const table of ["withheld_share", "request"])
          await db.pool.query(`alter table ${table} disable trigger user`);
        await db.pool.query(text, [id]);
        for (const table of ["withheld_share", "request"])
          await db.pool.query(`alter table ${table} enable trigger user`);
      };
      await run(sql);
      const names = (await checkLedger(db.pool))
        .filter(({ differences }) => differences.length > 0)
        .map(({ name }) => name);
      await run(undo);
      return names;
    };
    const amount = (change: string): string =>
      `update withheld_share set amount_pico = amount_pico ${change} where request_id = $1`;
    assert.deepEqual(await found(amount("+ 1"), amount("- 1")), [
      "every withheld share matches its request's charge, node and host",
    ]);
    await reserve.release({ requestIds: [id] }, { by: "operator:o", note: "" });
    const other = `(select id from transfer where kind = 'purchase' limit 1)`;
    const own = `(select id from transfer where kind = 'release' order by at desc limit 1)`;
    const released = (by: string): string => `update withheld_share set release_id = ${by} where request_id = $1`;
    assert.deepEqual(await found(released(other), released(own)), [
      "every withhold transfer equals the sum of its shares, and every release transfer equals one withheld share",
    ]);
    const part = (to: number): string => `update request set granted_pico = ${to} where id = $1`;
    assert.deepEqual(await found(part(-10), part(0)), [
      "every withheld share matches its request's charge, node and host",
      "the part of a charge paid from granted credit is at most the charge, and zero if another owner's node served",
    ]);
    const left = (change: string): string =>
      `update ledger_account set granted = granted ${change} where id = (select account_id from request where id = $1)`;
    assert.deepEqual(await found(left("+ 1"), left("- 1")), [
      "granted credit, spent and unspent together, never exceeds the grants",
    ]);
  });

  describe("granted credit", () => {
    test("earns no host's share when it is spent on its owner's own node, unlike bought credit", async () => {
      const served = await parties({ owner: await identity(), bought: 0n });
      await move("grant", served.builder, TEST_CHARGE + TEST_CHARGE / 2n);
      await move("purchase", served.builder, 10n * TEST_CHARGE);
      const ids = [await serve(served), await serve(served), await serve(served)];
      const parts = await Promise.all(ids.map(grantedPart));
      assert.deepEqual(parts, [TEST_CHARGE, TEST_CHARGE / 2n, 0n]);
      assert.equal(await granted(served.builder), 0n);
      assert.equal(await balance(served.host), computeHostShare(TEST_CHARGE - TEST_CHARGE / 2n) + SHARE);
    });

    test("is spent by the requests of one settlement batch in their order", async () => {
      const served = await parties({ owner: await identity(), bought: 0n });
      const stranger = await parties();
      await move("grant", served.builder, TEST_CHARGE + TEST_CHARGE / 2n);
      await move("purchase", served.builder, 10n * TEST_CHARGE);
      const batch = await Promise.all([ended(served), ended(stranger), ended(served), ended(served)]);
      assert.deepEqual(await Promise.all(batch.map((one) => ledger.settle(one))), Array(4).fill("settled"));
      assert.equal(await balance(served.host), computeHostShare(TEST_CHARGE - TEST_CHARGE / 2n) + SHARE);
      assert.equal(await balance(stranger.host), SHARE);
    });

    test("is spent once by a request that a settlement batch contains twice", async () => {
      const served = await parties({ owner: await identity(), bought: 0n });
      await move("grant", served.builder, 2n * TEST_CHARGE);
      const [once, other] = await Promise.all([ended(served), ended(served)]);
      const batch = [once, once, other];
      assert.deepEqual(await Promise.all(batch.map((one) => ledger.settle(one))), Array(3).fill("settled"));
      assert.deepEqual(await Promise.all([once.id, other.id].map(grantedPart)), [TEST_CHARGE, TEST_CHARGE]);
      assert.equal(await granted(served.builder), 0n);
      assert.equal(await balance(served.host), 0n);
    });

    test("is spent on other owners' nodes only after the bought credit, and those nodes' hosts get their shares", async () => {
      const owner = await identity();
      const own = await parties({ owner, bought: 0n });
      const stranger = { ...(await parties()), builder: own.builder };
      await move("grant", own.builder, 2n * TEST_CHARGE);
      await move("purchase", own.builder, 2n * TEST_CHARGE);
      for (let i = 0; i < 3; i++) await serve(stranger);
      assert.equal(await balance(stranger.host), 3n * SHARE);
      // Two of these requests were paid from bought credit and one from granted credit. So granted credit for one more
      // request is left.
      const id = await serve(own);
      assert.equal(await grantedPart(id), TEST_CHARGE);
      assert.equal(await balance(own.host), 0n);
      await move("purchase", own.builder, TEST_CHARGE);
      assert.equal(await grantedPart(await serve(own)), 0n);
      assert.equal(await balance(own.host), SHARE);
    });

    test("is reduced to the balance when a refund leaves a balance below it", async () => {
      const served = await parties({ owner: await identity(), bought: 5n * TEST_CHARGE });
      await move("grant", served.builder, 2n * TEST_CHARGE);
      await move("refund", served.builder, 6n * TEST_CHARGE);
      assert.equal(await granted(served.builder), TEST_CHARGE);
      await move("purchase", served.builder, 5n * TEST_CHARGE);
      assert.equal(await granted(served.builder), TEST_CHARGE);
    });

    test("earns no share on its owner's own node, even if shares are withheld there or the request is settled late", async () => {
      const served = await parties({ owner: await identity(), bought: 0n });
      await move("grant", served.builder, TEST_CHARGE + TEST_CHARGE / 2n);
      await move("purchase", served.builder, 10n * TEST_CHARGE);
      await serve(served, "node_failed");
      assert.deepEqual(await reserve.list({ hostId: served.host, limit: 10 }), []);
      const settlement = await ended(served);
      await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [settlement.id]);
      await ledger.expire();
      assert.equal(await ledger.settle(settlement), "late");
      assert.equal(await balance(served.host), computeHostShare(TEST_CHARGE - TEST_CHARGE / 2n));
    });
  });
});
