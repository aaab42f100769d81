/** Test helpers for the ledger: a hold, its settlement, and a disk for the spool. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement } from "./settlement-sql.ts";

export const newId = newIds(systemClock, systemRandom());

/** The charge for the token counts below at the test's prices. */
export const TEST_CHARGE = 3n * 20_000n + 5n * 40_000n;

export const createTestHold = (accountId: Uuid, amount = 1_000_000n): HoldOrder => ({
  id: newId(),
  accountId,
  amount: pico(amount),
  keyId: newId(),
  keyName: "a key",
  endpoint: "chat",
  model: "tiny-3b",
  build: "tiny-3b-q4-1",
  tokenizer: "llama3",
  stream: false,
  promptTokens: 3,
  priceVersion: 1,
  client: "test",
});

export const createTestSettlement = (
  hold: Pick<HoldOrder, "id" | "accountId">,
  paidHostId: Uuid | null,
): Settlement => ({
  id: hold.id,
  accountId: hold.accountId,
  nodeId: paidHostId === null ? null : newId(),
  paidHostId,
  charge: pico(TEST_CHARGE),
  outcome: "ok",
  httpStatus: 200,
  finishReason: "stop",
  completionTokens: 5,
  reasoningTokens: 0,
  attempts: 1,
  queueMs: 1,
  ttftMs: 2,
  durationMs: 3,
});

/** Resolves when a statement that matches this pattern waits for another transaction's lock. */
export const waitForBlockedStatement = (pool: pg.Pool, statement: string): Promise<unknown> =>
  eventually(`${statement} waits for a lock`, async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [statement],
    );
    return (rowCount ?? 0) > 0;
  });

export async function createSpoolDirectory(t: Pick<TestContext, "after">): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-spool-"));
  t.after(() => rm(directory, { recursive: true }));
  return join(directory, "spool");
}
