/**
 * Two gateways on one database and one NATS server have one fleet: a node that enrolled at one serves requests that arrive
 * at the other, outlives the one it enrolled at, is barred from both at once, what one sees of it counts at the other, and both
 * come back by themselves after the server was away.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PEPPER, urlOf } from "@tollgate/stage/database.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import type { RecordRow } from "@tollgate/stage/ledger-check.ts";
import { untilSettled } from "@tollgate/stage/ledger-check.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "@tollgate/stage/plane.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { hostShareOf } from "../gateway/src/base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";

const HOST_AGENT = fileURLToPath(new URL("../host/bin/tollgate-host.mjs", import.meta.url));
const PRICE = { in: 20_000n, out: 40_000n };

describe("one fleet", { skip }, () => {
  let db: TestDatabase;
  let nats: NatsPlane;
  let env: Record<string, string>;
  let agent: ChildProcess;
  const dataDirs: string[] = [];
  /** The node enrols at A; the requests arrive at B. */
  let a: Platform;
  let b: Platform;

  const startGateway = async (): Promise<Platform> => {
    const dataDir = await newDataDir();
    dataDirs.push(dataDir);
    return await startPlatform(dataDir, ["--no-node"], env);
  };
  before(async () => {
    db = await openTestDatabase();
    nats = await openNats();
    env = { ...nats.env, DATABASE_URL: urlOf(db.connection), KEY_PEPPER: PEPPER };
    [a, b] = [await startGateway(), await startGateway()];
    agent = startAgent(a);
    await bothServe();
  });
  after(async () => {
    if (agent !== undefined) await end(agent);
    for (const gateway of [a, b]) if (gateway?.process.exitCode === null) await gateway.stop();
    await nats?.close();
    await db?.close();
    for (const dataDir of dataDirs) await removeDataDir(dataDir);
  });

  const query: Platform["query"] = async (sql, values = []) => (await db.pool.query(sql, values)).rows;
  const serves = (gateway: Platform) => async (): Promise<boolean> =>
    (await chat(gateway, { text: "x" })).status === 200;
  const bothServe = async (): Promise<void> => {
    for (const gateway of [a, b]) await eventually("it serves", serves(gateway));
  };
  const recordOf = async (response: Response): Promise<RecordRow & { host_account_id: string }> => {
    await untilSettled({ query });
    const [row] = await query<RecordRow & { host_account_id: string }>(
      "select * from request order by id desc limit 1",
    );
    assert.ok(row, `a record of ${response.headers.get("x-request-id")}`);
    return row;
  };
  /** A stream whose output flows, and does for longer than anything here takes; `rest` reads it to its end. */
  const flowing = async (gateway: Platform): Promise<{ rest: () => Promise<string> }> => {
    const response = await chat(gateway, { tokens: 5_000, delta_ms: 50 }, { stream: true, max_tokens: 5_000 });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    const more = async (): Promise<boolean> => {
      const { value, done } = await reader.read();
      text += Buffer.from(value ?? []).toString();
      return !done;
    };
    while (text.split('"content":"').length < 5) assert.ok(await more(), text);
    return {
      async rest() {
        while (await more());
        return text;
      },
    };
  };
  const code = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code;

  test("a node enrolled at one gateway serves what arrives at the other, and its host is paid", async () => {
    const [node] = await query<{ id: string; account_id: string }>("select id, account_id from node");
    const balance = async (): Promise<bigint> => {
      const [row] = await query<{ balance: string }>("select balance from ledger_account where id = $1", [
        node?.account_id,
      ]);
      return BigInt(row?.balance ?? 0);
    };
    const before = await balance();
    const response = await chat(b, { text: "from afar" });
    assert.equal(response.status, 200);
    const body = (await response.json()) as { choices: { message: { content: string } }[] };
    assert.equal(body.choices[0]?.message.content, "from afar");
    const record = await recordOf(response);
    assert.deepEqual([record.outcome, record.node_id, record.host_account_id], ["ok", node?.id, node?.account_id]);
    const charge = BigInt(record.prompt_tokens) * PRICE.in + BigInt(record.completion_tokens) * PRICE.out;
    assert.equal(BigInt(record.charge_pico), charge);
    assert.equal((await balance()) - before, hostShareOf(charge));
  });

  test("both use it at the same time, each with its own answers", async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const response = await chat(i % 2 === 0 ? a : b, { text: `answer ${i}`, delta_ms: 5 }, { stream: i % 4 < 2 });
        return { status: response.status, text: await response.text() };
      }),
    );
    for (const [i, { status, text }] of answers.entries()) {
      assert.equal(status, 200);
      const words = [...text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word).join("");
      assert.equal(words, `answer ${i}`);
    }
  });

  test("what one gateway sees of a node counts at the other, and at one that starts later", async () => {
    const { data } = (await nodeApi(a, "GET", "/nodes")) as { data: { id: string }[] };
    type Seen = { reliability: { failures: number } };
    // The token of the node's own host, at whichever gateway.
    const seen = async ({ ready }: Platform): Promise<Seen> =>
      (await nodeApi(
        { ready: { ...a.ready, base_url: ready.base_url } },
        "GET",
        `/nodes/${data[0]?.id}/stats`,
      )) as Seen;
    const failuresAt = async (gateway: Platform): Promise<number> => (await seen(gateway)).reliability.failures;
    const before = await failuresAt(b);
    for (const gateway of [a, b, a]) assert.equal((await chat(gateway, { fail_after: 1 })).status, 502);
    for (const gateway of [a, b]) {
      await eventually("all three count", async () => (await failuresAt(gateway)) === before + 3);
    }
    // A gateway that starts now learns of it from the others.
    const c = await startGateway();
    await eventually("it knows", async () => (await failuresAt(c)) === before + 3);
    assert.equal(await c.stop(), 0);
  });

  test("the server goes away in mid-stream: an ending at once, no capacity, and both are back by themselves", async () => {
    const stream = await flowing(b);
    await nats.server.kill();
    const text = await stream.rest();
    assert.match(text, /"code":"upstream_stall"/);
    assert.doesNotMatch(text, /\[DONE\]/);
    for (const gateway of [a, b]) {
      const refused = await chat(gateway, { text: "x" });
      assert.deepEqual([refused.status, await code(refused)], [503, "no_capacity"]);
    }
    await untilSettled({ query });
    const [lost] = await query<RecordRow>("select * from request where outcome = 'plane_lost'");
    assert.ok(lost && BigInt(lost.charge_pico) > 0n, "what reached the client is billed");

    await nats.server.start();
    await bothServe();
    for (const { dataDir } of [a, b]) {
      const log = await readFile(join(dataDir, "gateway.log"), "utf8");
      assert.match(log, /the dispatch plane is away/);
      assert.match(log, /the dispatch plane is back/);
    }
  });

  test("a node in quarantine is barred from both at once; released and resumed, it serves both again", async () => {
    const [row] = await query<{ id: string }>("select id from node");
    const { data } = (await nodeApi(a, "GET", "/nodes")) as { data: { id: string }[] };
    const id = data[0]?.id as string;
    assert.ok(row && id);
    const admin = async (...args: string[]): Promise<void> => {
      const run = tollgate(["admin", "node", ...args], env);
      assert.equal(await run.ended, 0, run.output());
    };
    const stream = await flowing(b);
    await admin("quarantine", id, "--reason", "a test");
    assert.match(await stream.rest(), /"code":"upstream_stall"/, "what it ran ends with its connection");
    for (const gateway of [a, b]) {
      await eventually("it has no node", async () => (await chat(gateway, { text: "x" })).status === 503);
    }
    await admin("release", id);
    await nodeApi(a, "POST", `/nodes/${id}/resume`);
    await bothServe();
  });

  test("a node outlives the gateway it enrolled at", async () => {
    process.kill(a.ready.pids.gateway, "SIGKILL");
    await a.ended;
    for (let i = 0; i < 5; i++) assert.equal((await chat(b, { text: "alone" })).status, 200);
  });
});

function startAgent({ ready }: Platform): ChildProcess {
  const args = ["up", "--gateway", ready.base_url, "--name", "far", "--engine", "scripted", "--models", "tiny-3b"];
  return spawn(process.execPath, [HOST_AGENT, ...args], {
    env: { ...process.env, TOLLGATE_HOST_TOKEN: ready.host_token },
    stdio: "ignore",
  });
}

async function end(agent: ChildProcess): Promise<void> {
  if (agent.exitCode !== null) return;
  const ended = once(agent, "exit");
  agent.kill("SIGKILL");
  await ended;
}

async function nodeApi({ ready }: Pick<Platform, "ready">, method: string, path: string): Promise<unknown> {
  const response = await fetch(`${ready.base_url}/node/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ready.host_token}` },
  });
  assert.equal(response.status, 200);
  return await response.json();
}
