import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { dollars } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { openTestDatabase } from "../db/testing.ts";
import { createTestHold, createTestSettlement, newId, TEST_CHARGE } from "../ledger/testing.ts";
import type { CloseFunction } from "./assembly-context.ts";
import { openLedgerAndSpool } from "./ledger-and-spool.ts";
import { createTestDatabaseAccess } from "./testing.ts";

test("a closing gateway waits for settlements that are being written to the database", async (t) => {
  const db = await openTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), "tollgate-spool-"));
  t.after(async () => {
    await db.close();
    await rm(directory, { recursive: true });
  });
  const account = newId();
  await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [account]);
  const released = Promise.withResolvers<void>();
  let hangs: Promise<void> | undefined;
  let isClosing = false;
  const ledgerPool = new Proxy(db.pool, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== "query") return typeof value === "function" ? value.bind(target) : value;
      return async (...args: Parameters<pg.Pool["query"]>) => {
        await hangs;
        return await (target.query as (...all: unknown[]) => Promise<unknown>)(...args);
      };
    },
  });
  const stops: CloseFunction[] = [];
  const clock = manualClock(Date.now());
  // Resolves when a close function sets a timeout. It does that only if it waits for something.
  const waits = Promise.withResolvers<void>();
  const after: Clock["after"] = (delayMs, run) => {
    waits.resolve();
    return clock.after(delayMs, run);
  };
  const { ledger } = await openLedgerAndSpool(
    {
      ...{ random: systemRandom(), newId, gatewayId: "test", log: createLog("silent") },
      clock: new Proxy(clock, {
        get(target, name) {
          if (name === "after" && isClosing) return after;
          const value = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
      onClose: (stop) => void stops.push(stop),
    },
    { holdLeaseMs: 60_000, upkeep: false, replayWindowMs: 900_000 },
    { store: { ...createTestDatabaseAccess(db), ledgerPool }, spool: { directory } },
  );
  await ledger.transfer({ id: newId(), kind: "grant", accountId: account, amount: dollars(1), reason: "test" });
  const hold = createTestHold(account);
  await ledger.hold(hold);
  hangs = released.promise;
  const secured = ledger.secure(createTestSettlement(hold, null));
  isClosing = true;
  const closing = (async () => {
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
  })();
  const first = await Promise.race([closing.then(() => "closed"), waits.promise.then(() => "waits")]);
  assert.equal(first, "waits");
  released.resolve();
  await Promise.all([secured, closing]);
  const { rows } = await db.pool.query("select charge_pico from request where id = $1", [hold.id]);
  assert.deepEqual(rows, [{ charge_pico: TEST_CHARGE }]);
});
