/**
 * Two gateways on one database, one NATS server and, where there is one, one Redis, behind a balancer that follows `/readyz`. Each is
 * stopped and another one started in turn under a steady mixed load, and nobody notices.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { type Balanced, openBalanced } from "./balanced.ts";
import { skipWithoutNats as skip } from "./planes.ts";
import { tollgate } from "./platform.ts";
import { ask, CHAT, startSteadyLoad } from "./steady-load.ts";

describe("rolling restart", { skip }, () => {
  let balanced: Balanced;
  let key: string;

  before(async () => {
    balanced = await openBalanced({});
    await Promise.all([balanced.start(), balanced.start()]);
    await balanced.joined();
    const { keys, hostToken } = await balanced.openAccounts(1);
    [key] = keys as [string];
    for (const name of ["one", "two"]) await balanced.addNode(name, hostToken);
    for (const { baseUrl } of balanced.gateways) {
      await eventually("it serves", async () => (await ask(baseUrl, key, CHAT)).status === 200);
    }
  });
  after(() => balanced?.close());

  test("each gateway in turn: no client sees an error, every answer is charged once", async () => {
    const { url, query, gateways, start, stop, joined, env } = balanced;
    const load = await startSteadyLoad({ query, baseUrl: url, key });
    await load.more(50);
    for (const gateway of [...gateways]) {
      await stop(gateway);
      await load.more(20);
      await start();
      await joined();
      await load.more(50);
    }
    await load.endsWell();
    const check = tollgate(["admin", "ledger", "check"], env);
    assert.equal(await check.ended, 0, check.output());
  });
});
