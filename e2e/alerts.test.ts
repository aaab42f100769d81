/**
 * Tests the alerts of deploy/ on a real Prometheus. The suite makes the database unreachable, exhausts its connections,
 * loses commits in a failover, restores an old primary and kills a gateway. Each alert fires, and resolves when the
 * fault ends. The alerts' periods are seconds here instead of minutes; tools/deploy.test.ts checks the real periods.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage, waitForFirstOutput } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, removeDataDir } from "@tollgate/stage/dev-platform.ts";
import { type GatewayProcess, startGatewayProcess } from "@tollgate/stage/gateway-process.ts";
import { findFreePort, type Process } from "@tollgate/stage/killable-process.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { type Postgres, startPostgres } from "@tollgate/stage/servers/postgres.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV } from "@tollgate/stage/shared-servers.ts";
import { TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { Prometheus, skipWithoutPrometheus } from "./outside/prometheus.ts";

const MODEL = "tiny-3b";
const PERIOD_S = 20;

describe("alerts during failures", { skip: skipWithoutPrometheus }, () => {
  let dataDir: string;
  let postgres: Postgres;
  let gateway: GatewayProcess;
  let node: Process;
  let prometheus: Prometheus;
  let key: string;
  before(async () => {
    dataDir = await createDataDir();
    postgres = await startPostgres();
    const ports = { PORT: String(await findFreePort()), INTERNAL_PORT: String(await findFreePort()) };
    const env = {
      DATABASE_URL: postgres.url,
      KEY_PEPPER: TEST_KEY_PEPPER,
      ...ports,
      ...NO_QUARANTINE_OR_PROBATION_ENV,
    };
    gateway = await startGatewayProcess(dataDir, env);
    const host = await openHostAccount(postgres.query);
    const account = await openBuilderAccount(postgres.query, DEFAULT_CREDIT_PICO);
    key = (await makeKey(postgres.query, account, HIGH_KEY_LIMITS)).token;
    const ready = { gateway_url: gateway.baseUrl, host_token: host.token };
    node = await startNode({ ready }, { name: "node", model: MODEL, slots: 16 });
    const targets = { gateway: `127.0.0.1:${gateway.internalPort}` };
    prometheus = await Prometheus.open({ targets, everyS: 2, periodS: PERIOD_S });
  });
  after(async () => {
    await prometheus?.close();
    await node?.kill();
    await gateway?.stop();
    await postgres?.close();
    await removeDataDir(dataDir);
  });

  const chat = (orders: object, more: object = {}): Promise<Response> =>
    sendUserMessage(gateway, key, { model: MODEL, prompt: makeScriptPrompt(orders), ...more });
  const fire = (...alerts: string[]): Promise<unknown> =>
    Promise.all(
      alerts.map((alert) => eventually(`${alert} fires`, async () => (await prometheus.firing()).includes(alert))),
    );
  const nothingFires = (): Promise<unknown> =>
    eventually("no alert fires", async () => (await prometheus.firing()).length === 0);
  const isScraped = (): Promise<unknown> =>
    eventually("it is scraped", async () => (await prometheus.now("tollgate_ready == 1")).length > 0);

  test("alerts fire while the database is unreachable and settlements wait on disk, and resolve afterwards", async () => {
    assert.equal((await chat({ tokens: 5 })).status, 200);
    await isScraped();
    await nothingFires();
    const rest = await waitForFirstOutput(await chat({ tokens: 100, delta_ms: 20 }, { stream: true }));
    await postgres.cutFront("refusing");
    await rest();
    await fire("TollgateDependencyAway", "TollgateNotReady", "TollgateSettlementsSpooled", "TollgateSettlementsStuck");
    await postgres.healFront();
    await nothingFires();
  });

  test("an alert fires while the gateway's database role has no connection left", async () => {
    await postgres.query("alter role tollgate connection limit 3");
    await postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tollgate'");
    await fire("TollgateRunningOut");
    assert.match(await gateway.log(), /the database refuses more connections: raise the connection limit of the role/);
    await postgres.query("alter role tollgate connection limit -1");
    await nothingFires();
    assert.equal((await chat({ tokens: 5 })).status, 200);
  });

  test("an alert fires after a failover that lost commits", async () => {
    await postgres.kill("standby");
    for (let i = 0; i < 5; i++) {
      const response = await chat({ tokens: 5 });
      assert.equal(response.status, 200, await response.text());
    }
    await postgres.failoverLosing();
    await fire("TollgateHistoryLost");
    await nothingFires();
  });

  test("an alert fires while connections lead to an old primary", async () => {
    await postgres.leadTo("standby");
    await fire("TollgateDatabaseRefused", "TollgateDependencyAway", "TollgateNotReady");
    await postgres.leadTo("primary");
    await nothingFires();
  });

  test("an alert fires while a gateway is down", async () => {
    await gateway.kill();
    await fire("TollgateGatewayDown");
    await gateway.start();
    await isScraped();
    await nothingFires();
  });
});
