/**
 * Two gateways on one database, one NATS server and, where there is one, one Redis, behind a balancer that follows `/readyz`. Each is
 * stopped and another one started in turn under a steady mixed load, and nobody notices.
 */
import { after, before, describe, test } from "node:test";
import { openBalanced, STEADY_MODELS } from "@tollgate/stage/balanced.ts";
import { ask, CHAT, startSteadyLoad } from "@tollgate/stage/load/steady.ts";
import { skipWithoutNats as skip } from "@tollgate/stage/plane.ts";
import type { ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";

describe("rolling restart", { skip }, () => {
  let stage: ProcessStage;
  let key: string;

  before(async () => {
    stage = await openBalanced();
    ({ key } = await stage.builder());
    for (let i = 0; i < 2; i++) await stage.node({ models: STEADY_MODELS });
    for (const { baseUrl } of stage.gateways) {
      await eventually("it serves", async () => (await ask(baseUrl, key, CHAT)).status === 200);
    }
  });
  after(() => stage?.close());

  test("each gateway in turn: no client sees an error, every answer is charged once", async () => {
    const load = await startSteadyLoad({ query: stage.query, baseUrl: stage.baseUrl, key });
    await load.more(50);
    for (const gateway of [...stage.gateways]) {
      await stage.removeGateway(gateway);
      await load.more(20);
      await stage.addGateway();
      await stage.joined();
      await load.more(50);
    }
    await load.endsWell();
    await stage.admin("ledger", "check");
  });
});
