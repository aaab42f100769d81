/** For tests of the ledger: a hold and a settlement of it, and a disk to spool to. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { type Clock, systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement } from "./settlement.ts";

export const newId = newIds(systemClock, systemRandom());

/**
 * For a ledger on a machine of any speed: what fails is tried again, and no deadline ever passes, neither a client's for its hold
 * nor that of a balance that is remembered.
 */
export const patientClock: Clock = {
  ...systemClock,
  monotonic: () => 0,
  after: (delayMs, run) => (delayMs < DEADLINE_MS_MIN ? systemClock.after(delayMs, run) : () => {}),
  every: () => () => {},
};
/** Pauses before another try are shorter, until the fifth. */
const DEADLINE_MS_MIN = 1_000;

/** What the prices of `openBooks` come to for the counts below. */
export const COST = 3n * 20_000n + 5n * 40_000n;

export const holdOf = (accountId: Uuid, amount = 1_000_000n): HoldOrder => ({
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

export const settlementOf = (hold: Pick<HoldOrder, "id" | "accountId">, paidHostId: Uuid | null): Settlement => ({
  id: hold.id,
  accountId: hold.accountId,
  nodeId: paidHostId === null ? null : newId(),
  paidHostId,
  charge: pico(COST),
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

/** Until a statement like this one waits for a lock that another transaction has. */
export const untilOneWaits = (pool: pg.Pool, statement: string): Promise<unknown> =>
  eventually(`${statement} waits for a lock`, async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [statement],
    );
    return (rowCount ?? 0) > 0;
  });

export async function newDirectory(t: Pick<TestContext, "after">): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-spool-"));
  t.after(() => rm(directory, { recursive: true }));
  return join(directory, "spool");
}
