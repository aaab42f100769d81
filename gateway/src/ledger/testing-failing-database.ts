/** For tests of outages: a ledger on a real database whose queries fail as the test says, on a clock that it moves. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { HOUR_MS } from "../base/time.ts";
import { openTestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import type { HoldOrder } from "./hold.ts";
import { type Ledger, openLedger } from "./ledger.ts";
import { openSpool } from "./spool.ts";
import { readLines } from "./spool-lines.ts";
import { createSpoolDirectory, createTestHold, newId } from "./testing.ts";

/** How long a hold or an answer waits for the database. */
export const ANSWER_MS = 2_000;

export interface Trouble {
  /** The error of a query: `before` it is sent, or `after` it was executed. Undefined: the query succeeds. */
  before?: () => Error;
  after?: () => Error;
  /** If set, queries wait for this promise. */
  hangs?: Promise<void>;
}

interface TroubledLedgerOptions {
  directory?: string;
  gatewayId?: string;
  trouble?: Trouble;
  giveUpAfterMs?: number;
}

export type FailingDatabase = Awaited<ReturnType<typeof openFailingDatabase>>;

/** A database with a builder and a host, and ledgers on it. */
export async function openFailingDatabase() {
  const db = await openTestDatabase();
  const { pool } = db;
  await pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
  const [builder, host] = [newId(), newId()];
  await pool.query("insert into ledger_account (id, kind) values ($1, 'builder'), ($2, 'host')", [builder, host]);
  await pool.query("select ledger_transfer($1, 'grant', $2, 100000000000, 'test')", [newId(), builder]);
  const chargesOf = async (id: Uuid): Promise<bigint[]> => {
    const { rows } = await pool.query(
      "select -amount as charge from ledger_entry where operation = $1 and kind = 'charge'",
      [id],
    );
    return rows.map(({ charge }) => BigInt(charge));
  };
  return {
    pool,
    builder,
    host,
    /**
     * Opens a ledger whose queries fail as the test says, and its log. Its clock stands still, so that a slow machine
     * does not matter.
     */
    async open(t: TestContext, options: TroubledLedgerOptions = {}) {
      const { directory = await createSpoolDirectory(t), gatewayId = newId(), trouble = {}, giveUpAfterMs } = options;
      const lines: { level: number; msg: string; request?: string }[] = [];
      const [asked, done]: [string[], string[]] = [[], []];
      const clock = manualClock(Date.now());
      const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
      const spool = await openSpool({ directory, gatewayId, clock, log });
      const failing = new Proxy(pool, {
        get(target, name) {
          const value = Reflect.get(target, name);
          if (name !== "query") return typeof value === "function" ? value.bind(target) : value;
          return async (...args: Parameters<pg.Pool["query"]>) => {
            const query = (args[0] as unknown as { statement?: string }).statement ?? "";
            asked.push(query);
            await trouble.hangs;
            if (trouble.before !== undefined) throw trouble.before();
            const result = await (target.query as (...all: unknown[]) => Promise<unknown>)(...args);
            done.push(query);
            if (trouble.after !== undefined) throw trouble.after();
            return result;
          };
        },
      });
      const ledger = openLedger({
        pool: failing,
        clock,
        gatewayId,
        spool,
        log,
        holdLeaseMs: HOUR_MS,
        ...(giveUpAfterMs !== undefined && { giveUpAfterMs }),
      });
      t.after(async () => {
        await ledger.close();
        await spool.close();
      });
      return { ledger, clock, trouble, lines, directory, spool, asked, done };
    },
    async held(ledger: Ledger): Promise<HoldOrder> {
      const hold = createTestHold(builder);
      assert.deepEqual(await ledger.hold(hold), { kind: "held" });
      return hold;
    },
    chargesOf,
    isCharged: async (id: Uuid): Promise<boolean> => (await chargesOf(id)).length > 0,
    async assertLedger(): Promise<void> {
      const differing = (await checkLedger(pool)).filter(({ differences }) => differences.length > 0);
      assert.deepEqual(differing, []);
    },
    close: () => db.close(),
  };
}

export const coded = (code: string): Error => Object.assign(new Error(`refused with ${code}`), { code });

export function without(trouble: Trouble): void {
  for (const name of ["before", "after", "hangs"] as const) delete trouble[name];
}

/** Advances the clock in steps until the condition holds. */
export const passing = <T>(what: string, clock: ManualClock, check: () => T | Promise<T>) =>
  eventually(what, () => {
    clock.advance(100);
    return check();
  });

/** The requests whose settlements are in the spool. */
export async function onDisk(directory: string): Promise<Uuid[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".spool"));
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return texts.flatMap((text) => readLines(text).settlements.map(({ id }) => id));
}
