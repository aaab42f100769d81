/** Tests entering the charges from a lost gateway's spool (settlements waiting on its disk). */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { systemClock } from "../../base/clock.ts";
import { createLog } from "../../base/log.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import { timeoutFreeClock } from "../../base/testing.ts";
import { parseConfig } from "../../config.ts";
import { openTestDatabase } from "../../db/testing.ts";
import { openLedger } from "../../ledger/ledger.ts";
import { formatSettlementLine } from "../../ledger/spool-lines.ts";
import {
  createSpoolDirectory,
  createTestHold,
  createTestSettlement,
  newId,
  TEST_CHARGE,
} from "../../ledger/testing.ts";
import { openAudit } from "../../operators/audit.ts";
import { spoolCommands } from "./spool.ts";

test("tollgate admin spool lists a lost gateway's spool, and enters its charges once, audited, after the holds expired, and no longer reports the gateway", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const directory = await createSpoolDirectory(t);
  await mkdir(directory);
  const [builder, host] = [newId(), newId()];
  await pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
  await pool.query("insert into ledger_account (id, kind) values ($1, 'builder'), ($2, 'host')", [builder, host]);
  await pool.query("select ledger_transfer($1, 'grant', $2, 100000000000, 'test')", [newId(), builder]);
  const ledger = openLedger({ pool, clock: timeoutFreeClock, gatewayId: "left", log: createLog("silent") });
  t.after(() => ledger.close());
  const holds = [createTestHold(builder), createTestHold(builder)];
  for (const hold of holds) await ledger.hold(hold);
  await ledger.expire();
  await pool.query("update hold set expires_at = now() - interval '1 minute'");
  assert.equal(await ledger.expire(), 2);
  const lines = holds.map((hold) => formatSettlementLine(createTestSettlement(hold, host)));
  await writeFile(join(directory, "elsewhere~1~left~1.spool"), lines.join(""));

  await pool.query(
    "insert into gateway_process (gateway, host, directory, connections, expired) values ('left', 'elsewhere', '/data', 24, 2), ('lost', 'burnt', '/data', 24, 7)",
  );
  const command = async (
    name: "spool list" | "spool enter" | "spool left" | "spool forget",
    args = [directory],
  ): Promise<{ code: number; told: unknown }> => {
    const terminal = new FakeTerminal();
    const given = { json: true, args, flags: { reason: "its disk burnt" }, switches: new Set<string>() };
    const run = { ...given, pool, newId, clock: systemClock, config: parseConfig({}), terminal, print: terminal.print };
    const code = (await spoolCommands[name]?.run(run)) ?? assert.fail(name);
    return { code, told: JSON.parse(terminal.text) };
  };
  const waiting = async (): Promise<unknown[]> => {
    const [file] = (await command("spool list")).told as Record<string, unknown>[];
    return [file?.host, file?.settlements, file?.waiting, file?.charge_micro];
  };
  const left = async (): Promise<unknown> =>
    ((await command("spool left", [])).told as Record<string, unknown>[]).map(({ gateway, requests }) => [
      gateway,
      requests,
    ]);
  assert.deepEqual(await left(), [
    ["left", 2],
    ["lost", 7],
  ]);
  assert.deepEqual(await waiting(), ["elsewhere", 2, 2, formatExactMicrodollars(pico(2n * TEST_CHARGE))]);
  for (const [entered, known] of [
    [2, 0],
    [0, 2],
  ]) {
    const told = { entered, known, given_up: 0, unreadable: 0 };
    assert.deepEqual(await command("spool enter"), { code: 0, told });
  }
  assert.deepEqual(await waiting(), ["elsewhere", 2, 0, formatExactMicrodollars(pico(0n))]);
  const { rows } = await pool.query("select sum(charge_pico)::bigint as charged from request");
  assert.equal(rows[0].charged, 2n * TEST_CHARGE);
  const [{ operator, action, outcome } = {}] = await openAudit({ pool, newId }).list({ limit: 1 });
  assert.deepEqual([operator, action, outcome], ["command line", "spool.enter", "done"]);
  assert.deepEqual(await left(), [["lost", 7]], "the spool of the first is in the ledger");
  assert.deepEqual(await command("spool forget", ["lost"]), { code: 0, told: { forgotten: "lost" } });
  assert.deepEqual(await left(), []);
  await assert.rejects(command("spool forget", ["lost"]), /the database has no gateway "lost"/);
});
