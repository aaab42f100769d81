/**
 * The key of the embedded plane is replaced while an agent is connected: one gateway, restarted with the new key beside the old one, then
 * without the old. The agent's own process lives through it, what runs at a restart ends well, and nobody hears anything but "try again" before
 * the agent is back.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { makeKey, openBuilder, openHost } from "@tollgate/stage/accounts.ts";
import { urlOf } from "@tollgate/stage/database.ts";
import { newDataDir, type Platform, removeDataDir } from "@tollgate/stage/dev.ts";
import { type GatewayProcess, serve } from "@tollgate/stage/gateway-process.ts";
import { ask, CHAT } from "@tollgate/stage/load/steady.ts";
import { startNode } from "@tollgate/stage/nodes/agent.ts";
import type { Process } from "@tollgate/stage/process.ts";
import { freePort } from "@tollgate/stage/process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";
import { createKey } from "../gateway/src/plane/credentials/nkeys.ts";

const newSeed = (): string => createKey("account", systemRandom()).seed;
const [FIRST, SECOND] = [newSeed(), newSeed()];
const LONG = {
  ...CHAT,
  body: {
    ...CHAT.body,
    stream: true,
    messages: [{ role: "user", content: `#script ${JSON.stringify({ tokens: 40, delta_ms: 50 })}` }],
  },
};

/** The first piece of a stream that has text. */
const WORD = /"content":"[^"]/;

describe("replacing the key of the embedded plane", () => {
  let db: TestDatabase;
  let dataDir: string;
  let env: Record<string, string>;
  let gateway: GatewayProcess;
  let node: Process;
  let key: string;
  let starts = 0;

  const query: Platform["query"] = async (sql, values = []) => (await db.pool.query(sql, values)).rows;
  const start = (seeds: Record<string, string>): Promise<GatewayProcess> => {
    starts += 1;
    return serve(dataDir, { ...env, ...seeds }, `gateway-${starts}`);
  };
  before(async () => {
    db = await openTestDatabase();
    dataDir = await newDataDir();
    env = {
      DATABASE_URL: urlOf(db.connection),
      PORT: String(await freePort()),
      PLANE_PORT: String(await freePort()),
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
    };
    gateway = await start({ PLANE_SEED: FIRST });
    key = (await makeKey(query, await openBuilder(query, 100_000_000_000_000n))).token;
    const ready = { base_url: gateway.baseUrl, host_token: (await openHost(query)).token };
    node = await startNode({ ready }, { name: "one", model: "tiny-3b", slots: 4 });
  });
  after(async () => {
    await node?.kill();
    await gateway?.stop();
    await db?.close();
    await removeDataDir(dataDir);
  });

  /** How often this gateway was asked for credentials. */
  const credentialsAsked = async (): Promise<number> => {
    const page = await (await fetch(`http://127.0.0.1:${gateway.internalPort}/metrics`)).text();
    const counts = page.matchAll(
      /^tollgate_http_answers_total\{.*route="\/node\/v1\/nodes\/:id\/credentials".*\} (\d+)$/gm,
    );
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  /** With a stream under way; until requests are answered again. */
  const restart = async (seeds: Record<string, string>): Promise<void> => {
    const running = await fetch(`${gateway.baseUrl}${LONG.path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(LONG.body),
    });
    assert.equal(running.status, 200);
    const reader = (running.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readOn = async (): Promise<boolean> => {
      const { value = "", done } = await reader.read();
      text += value;
      return !done;
    };
    while (!WORD.test(text)) assert.ok(await readOn(), text);
    assert.equal(await gateway.stop(), 0);
    while (await readOn());
    assert.ok(text.endsWith("data: [DONE]\n\n") && !text.includes('"error"'), text.slice(-300));
    gateway = await start(seeds);
    await eventually("the agent is back", async () => {
      const { status, text } = await ask(gateway.baseUrl, key, CHAT);
      if (status !== 200) assert.match(text, /"no_capacity"/);
      return status === 200;
    });
    assert.ok(node.running());
  };

  test("with the old key beside it, agents come back with the credentials they have", async () => {
    assert.ok((await credentialsAsked()) > 0, "when it came first");
    await restart({ PLANE_SEED: SECOND, PLANE_SEED_OLD: FIRST });
    assert.equal(await credentialsAsked(), 0);
  });

  test("without it, an agent whose credentials are still of the old key asks for others by itself", async () => {
    await restart({ PLANE_SEED: SECOND });
    assert.ok((await credentialsAsked()) > 0);
  });
});
