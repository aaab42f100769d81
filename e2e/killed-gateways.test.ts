/** Gateways that are killed during requests must never charge requests that they did not finish. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import {
  createDataDir,
  type Platform,
  raiseLimits,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { assertBalanced, readBuilderAccount } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";

/** The number of long streams among a hundred: some must still run at the kill, but no more than the node has slots. */
const LONG_STREAMS = 40;
const FLAGS = ["--engine", "scripted", "--models", "tiny-3b"];
/**
 * The lifetime of a hold in seconds. Short, because the test waits for its end; the ledger's own tests check the
 * default.
 */
const LEASE_S = 6;
const SHORT_LEASE = { HOLD_LEASE_S: String(LEASE_S) };

describe("gateways that are killed during requests", () => {
  let dataDir: string;
  let started: Platform | undefined;
  before(async () => {
    dataDir = await createDataDir();
  });
  after(async () => {
    // If a failed test left the process running, this test file would not end.
    if (started?.process.exitCode === null) started.process.kill("SIGKILL");
    await started?.ended;
    await removeDataDir(dataDir);
  });

  const start = async (): Promise<Platform> => {
    started = await startPlatform(dataDir, FLAGS, SHORT_LEASE);
    return started;
  };

  test("ten gateways killed during 100 streams each leave no hold once the holds' leases end, and charge nothing twice", async () => {
    const streams = 100;
    for (let round = 1; round <= 10; round++) {
      const platform = await start();
      await raiseLimits(platform);
      // When the gateway is killed, some streams have ended and some are settling. The long ones still run.
      const orders = (i: number): object =>
        i < LONG_STREAMS ? { tokens: 5000, delta_ms: 100 } : { tokens: 5 * (i - LONG_STREAMS + 1), delta_ms: 4 };
      const ended = Array.from({ length: streams }, (_, i) =>
        sendScriptedChat(platform, orders(i), { stream: true, max_tokens: 5000 })
          .then((response) => response.text())
          .catch(() => undefined),
      );
      await eventually("some have ended and some run", async () => {
        const [row] = await platform.query<{ ended: string; open: string }>(
          "select (select count(*) from request where outcome = 'ok') as ended, (select count(*) from hold) as open",
        );
        return Number(row?.ended) > 20 * round - 20 && Number(row?.open) > 20;
      });
      await platform.kill();
      await Promise.all(ended);
    }
    const last = await start();
    await eventually("every hold has ended", async () => (await readBuilderAccount(last)).held === 0n);
    assert.equal((await last.query("select id from hold")).length, 0);
    await assertBalanced(last);
    // No request has two charges; requests that were lost with their gateway have none.
    assert.deepEqual(
      await last.query("select operation from ledger_entry where kind = 'charge' group by 1 having count(*) > 1"),
      [],
    );
    const lost = await last.query<{ count: string }>(
      "select count(*) from request where outcome = 'gateway_lost' and charge_pico = 0",
    );
    assert.ok(Number(lost[0]?.count) > 100, `${lost[0]?.count} requests were lost with their gateways`);
    assert.deepEqual(
      await last.query("select id from request where outcome = 'gateway_lost' and charge_pico <> 0"),
      [],
    );
    const proof = runTollgate(["admin", "ledger", "check", "--data", dataDir]);
    assert.equal(await proof.ended, 0, proof.output());
    await last.stop();
  });
});
