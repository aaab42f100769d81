/**
 * Tests a gateway process on machines with a faulty setup: too few file descriptors, a clock a day ahead, settings of
 * another deployment, settlements left on disk. Checks the clients' responses, the log, and which alert of deploy/
 * fires.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { HIGH_KEY_LIMITS, makeKey } from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage, waitForFirstOutput } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, removeDataDir, runTollgate } from "@tollgate/stage/dev-platform.ts";
import { skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { createGatewayProcess, REPOSITORY_ROOT } from "@tollgate/stage/gateway-process.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { convertRequestIdToUuid } from "@tollgate/stage/raw-http.ts";
import { explainMissingFakeClock, openFakeClock } from "@tollgate/stage/servers/fake-clock.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { runWithinOneMinuteOrDay } from "@tollgate/stage/within-one-minute-or-day.ts";
import { openDatabaseProxy } from "../gateway/src/db/testing/database-proxy.ts";
import type { TestDatabase } from "../gateway/src/db/testing.ts";
import { findValkeyServer } from "../gateway/src/limits/testing-limits.ts";
import { Prometheus, skipWithoutPrometheus } from "./outside/prometheus.ts";

const MODEL = "tiny-3b";
/** The limit of file descriptors for the gateway that runs out of them. */
const FILES = 256;
const DAY_S = 24 * 60 * 60;
/** The period of alerts in seconds; in production it is minutes or hours. */
const PERIOD_S = 20;

const opened = async (
  t: TestContext,
  options: Partial<Parameters<typeof openStage>[0]> = {},
): Promise<ProcessStage> => {
  const stage = await openStage({ as: "processes", env: NO_QUARANTINE_OR_PROBATION_ENV, ...options } as {
    as: "processes";
  });
  t.after(() => stage.close());
  return stage;
};
/** Starts a gateway that need not become ready, on ports that the test chooses. */
const started = async (t: TestContext, settings: Record<string, string>, wrapper: string[] = []) => {
  const dataDir = await createDataDir();
  const logFile = join(dataDir, "gateway.log");
  const [port, internalPort] = [await findFreePort(), await findFreePort()];
  const ports = { PORT: String(port), INTERNAL_PORT: String(internalPort), PLANE_PORT: "0" };
  const env = { LOG_LEVEL: "info", WORKERS: "1", DRAIN_DELAY_S: "0", ...ports, ...settings };
  const gateway = createGatewayProcess({ name: "gateway", dataDir, logFile, root: REPOSITORY_ROOT, env, wrapper });
  t.after(async () => {
    await gateway.end();
    await removeDataDir(dataDir);
  });
  await gateway.start();
  return { gateway, logFile, port, internalPort };
};
const watched = async (t: TestContext, targets: Record<string, string>): Promise<Prometheus> => {
  const prometheus = await Prometheus.open({ targets, everyS: 2, periodS: PERIOD_S });
  t.after(() => prometheus.close());
  return prometheus;
};
const fires = (prometheus: Prometheus, alert: string): Promise<unknown> =>
  eventually(`${alert} fires`, async () => (await prometheus.firing()).includes(alert));
const gaugesOf = async (internalPort: number): Promise<(name: string) => number> => {
  const text = await (await fetch(`http://127.0.0.1:${internalPort}/metrics`)).text();
  return (name) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
};
const errorLines = async (logFile: string): Promise<Record<string, unknown>[]> =>
  (await readFile(logFile, "utf8"))
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ level }) => Number(level) >= 40);

describe("a gateway with a faulty setup", { skip: skipWithoutPrometheus }, () => {
  test("if file descriptors run out, answers 503 and logs the reason, and serves again when connections end", async (t) => {
    const stage = await opened(t, { gateways: 0 });
    const { logFile, port, internalPort } = await started(t, stage.env, [
      ...["/bin/sh", "-c", `ulimit -n ${FILES} && exec "$@"`, "sh"],
    ]);
    const idle = new Set<Socket>();
    let isFull = true;
    /** Opens an idle connection. The gateway ends it after 15 s without data (408); then another one is opened. */
    const occupy = async (): Promise<void> => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      let said = "";
      socket.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      idle.add(socket);
      socket.once("close", () => {
        idle.delete(socket);
        if (isFull && said.startsWith("HTTP/1.1 408")) void occupy();
      });
      await once(socket, "connect");
    };
    const free = (): void => {
      isFull = false;
      for (const socket of idle) socket.destroy();
    };
    t.after(free);
    await eventually("it serves", async () => /"msg":"serving"/.test(await readFile(logFile, "utf8")));
    const prometheus = await watched(t, { gateway: `127.0.0.1:${internalPort}` });
    const { key } = await stage.builder();
    const models = async (): Promise<[number, string | null, string | null]> => {
      const asked = fetch(`http://127.0.0.1:${port}/v1/models`, {
        headers: { authorization: `Bearer ${key}`, connection: "close" },
      });
      const { status, headers } = await asked;
      return [status, headers.get("retry-after"), headers.get("connection")];
    };
    assert.equal((await models())[0], 200);
    assert.equal((await gaugesOf(internalPort))("tollgate_open_files_max"), FILES);
    await eventually("it refuses", async () => {
      // The gateway reserves an eighth of the descriptors. This loop ends when a quarter of the reserve is used.
      if ((await gaugesOf(internalPort))("tollgate_open_files") < (FILES * 29) / 32) {
        await occupy();
        return false;
      }
      return isDeepStrictEqual(await models(), [503, "1", "close"]);
    });
    const told = (await errorLines(logFile)).filter(({ msg }) => /^file descriptors are running out/.test(String(msg)));
    assert.equal(told[0]?.max, FILES);
    await fires(prometheus, "TollgateRunningOut");
    free();
    await eventually("it serves again", async () => (await models())[0] === 200);
  });

  test("if its clock is a day ahead, grants no daily budget twice, and dates records by the database's clock", {
    skip: explainMissingFakeClock() ?? false,
  }, async (t) => {
    const clock = await openFakeClock();
    t.after(() => clock.close());
    const stage = await opened(t, { gateways: 0 });
    const gateway = await stage.addGateway(clock.environment);
    await stage.joined();
    const prometheus = await watched(t, { gateway: `127.0.0.1:${gateway.internalPort}` });
    await stage.node({ models: [MODEL] });
    const { account, key } = await stage.builder();
    const chat = (by: string): Promise<Response> =>
      sendUserMessage(stage, by, { model: MODEL, prompt: makeScriptPrompt({ tokens: 5 }), max_tokens: 20 });
    const first = await stage.record(await chat(key));
    const seen = await runWithinOneMinuteOrDay("day", async () => {
      await clock.jump(0);
      const budgetDay = BigInt(first?.hold_pico ?? 0);
      const { token } = await makeKey(stage.query, account, { ...HIGH_KEY_LIMITS, budgetDay });
      const statuses = [(await chat(token)).status, (await chat(token)).status];
      await clock.jump(DAY_S);
      return [...statuses, (await chat(token)).status];
    });
    assert.deepEqual(seen, [200, 402, 402]);
    const record = await stage.record(await chat(key));
    const [row] = await stage.query<{ apart: boolean }>(
      "select abs(extract(epoch from clock_timestamp() - created_at)) > 3600 as apart from request where id = $1",
      [record?.id],
    );
    assert.deepEqual(row, { apart: false });
    await fires(prometheus, "TollgateClockOff");
    await eventually("it says so", async () =>
      (await errorLines(gateway.logFile)).some(({ msg }) =>
        /^this machine's clock is ahead of the database's/.test(String(msg)),
      ),
    );
  });

  test("with settings of another deployment, is not ready and names the setting and the command", {
    skip:
      skipWithoutNats || (findValkeyServer() === undefined && "neither valkey-server nor redis-server is installed"),
  }, async (t) => {
    const stage = await opened(t, { plane: "nats", limits: "valkey" });
    const wrong: [name: string, value: string][] = [
      ["KEY_PEPPER", "the pepper of another deployment, in these tests"],
      ["NATS_URL", ""],
      ["VALKEY_URL", ""],
    ];
    const targets: Record<string, string> = {};
    for (const [name, value] of wrong) {
      const { gateway, internalPort } = await started(t, { ...stage.env, [name]: value });
      const readyz = (): Promise<Response | undefined> =>
        fetch(`http://127.0.0.1:${internalPort}/readyz`).catch(() => undefined);
      const said = await eventually(`it says why it is not ready without its ${name}`, async () => {
        const text = await (await readyz())?.text();
        return text?.includes(name) && text;
      });
      assert.equal((await readyz())?.status, 503);
      assert.match(said, /Next: /);
      assert.ok(!(await gateway.log()).includes('"msg":"serving"'));
      targets[name] = `127.0.0.1:${internalPort}`;
    }
    const prometheus = await watched(t, targets);
    const firing = 'ALERTS{alertname="TollgateSettingDiffers",alertstate="firing"}';
    await eventually("the alert fires for each", async () => {
      const instances = (await prometheus.now(firing)).map(({ metric }) => metric.instance);
      return wrong.every(([name]) => instances.includes(name));
    });
  });

  test("reports the settlements left on disk if it stops during a database outage, and so does another gateway, until a command settles each of them once", async (t) => {
    const stage = await opened(t, { gateways: 0, env: { ...NO_QUARANTINE_OR_PROBATION_ENV, HOLD_LEASE_S: "3" } });
    const proxy = await openDatabaseProxy((stage.shared.database as TestDatabase).connection);
    t.after(() => proxy.close());
    const gateway = await stage.addGateway({ DATABASE_URL: proxy.connection.connectionString });
    await stage.joined();
    const prometheus = await watched(t, { gateway: `127.0.0.1:${gateway.internalPort}` });
    await stage.node({ models: [MODEL] });
    const other = await stage.addGateway({ SPOOL_DIR: join(stage.dataDir, "other-spool") });
    const spoolsLeft = async (): Promise<number> => (await gaugesOf(other.internalPort))("tollgate_spools_left");
    const { key } = await stage.builder();
    const streams = await Promise.all(
      Array.from({ length: 3 }, () =>
        sendUserMessage(stage, key, {
          model: MODEL,
          prompt: makeScriptPrompt({ tokens: 80, delta_ms: 100 }),
          stream: true,
        }),
      ),
    );
    const rests = await Promise.all(streams.map(waitForFirstOutput));
    await proxy.refuse();
    for (const rest of rests) assert.match(await rest(), /\[DONE\]/);
    await eventually(
      "Prometheus saw that they wait",
      async () => (await prometheus.now("tollgate_settlements_waiting == 3")).length > 0,
    );
    await stage.removeGateway(gateway);
    const left = (await errorLines(gateway.logFile)).filter(({ msg }) =>
      /^stopped with charges that wait in the spool/.test(String(msg)),
    );
    assert.deepEqual(
      left.map(({ settlements, directory }) => [settlements, directory]),
      [[3, join(stage.dataDir, "spool")]],
    );
    await fires(prometheus, "TollgateSpoolLeft");
    await eventually("the other gateway reports it", async () => (await spoolsLeft()) === 1);
    const ids = streams.map(({ headers }) => convertRequestIdToUuid(headers.get("x-request-id") as string));
    const charged = (): Promise<object[]> =>
      stage.query("select id from request where id = any ($1) and charge_pico > 0", [ids]);
    assert.equal((await charged()).length, 0);
    for (const entered of [3, 0]) {
      const command = runTollgate(["admin", "spool", "enter", join(stage.dataDir, "spool"), "--json"], stage.env);
      assert.equal(await command.ended, 0, command.output());
      // The command also warns of each settlement whose hold has expired.
      const [, told] = /^\{"entered":(\d+)/m.exec(command.output()) ?? [];
      assert.equal(Number(told), entered, command.output());
    }
    assert.equal((await charged()).length, 3);
    await eventually("the other gateway reports it no longer", async () => (await spoolsLeft()) === 0);
    await stage.noHolds();
    await assertBalanced(stage);
  });
});
