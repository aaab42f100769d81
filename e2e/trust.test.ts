/** How far a platform trusts nodes that it does not know: one request at a time, and no work for a barred host's new ones. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { startNode } from "@tollgate/stage/nodes/agent.ts";
import type { Process } from "@tollgate/stage/process.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";

interface NodeObject {
  id: string;
  name: string;
  state: string;
  probation: { answers: number; needed: number } | null;
  withheld: string | null;
}

describe("new nodes", () => {
  let dataDir: string;
  let platform: Platform;
  const started: Process[] = [];
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node"], { PROBATION_ANSWERS: "3" });
    await raiseLimits(platform);
  });
  after(async () => {
    for (const node of started) await node.kill();
    await platform.stop();
    await removeDataDir(dataDir);
  });

  const serve = async (name: string, model: string): Promise<NodeObject> => {
    started.push(await startNode(platform, { name, model, slots: 4 }));
    return await read(name);
  };
  const read = async (name: string): Promise<NodeObject> => {
    const response = await fetch(`${platform.ready.base_url}/node/v1/nodes?limit=100`, {
      headers: { authorization: `Bearer ${platform.ready.host_token}` },
    });
    const { data } = (await response.json()) as { data: NodeObject[] };
    return data.find((node) => node.name === name) as NodeObject;
  };
  const admin = async (...args: string[]): Promise<string> => {
    const env = { PROBATION_ANSWERS: "3" };
    const run = tollgate(["admin", "node", ...args, "--data", dataDir], env);
    assert.equal(await run.ended, 0, run.output());
    return run.output();
  };
  /** A stream that the node runs until it is told to stop. Resolves when its output flows. */
  const keepRunning = async (): Promise<() => Promise<void>> => {
    const leaving = new AbortController();
    const order = { stream: true, max_tokens: 5_000 };
    const response = await chat(platform, { tokens: 5_000, delta_ms: 100 }, order, leaving.signal);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (!/"content":"[^"]/.test(text)) {
      const { value, done } = await reader.read();
      assert.ok(!done, text);
      text += Buffer.from(value).toString();
    }
    return async () => {
      leaving.abort();
      await reader.closed.catch((error: Error) => assert.equal(error.name, "AbortError"));
    };
  };

  test("one request at a time until so many were answered well; then all its slots", async () => {
    const node = await serve("fresh", "tiny-3b");
    assert.deepEqual(node.probation, { answers: 0, needed: 3 });
    await eventually("it is online", async () => (await read("fresh")).state === "online");
    const stop = await keepRunning();
    const beside = await chat(platform, { text: "a second beside it" });
    assert.deepEqual([beside.status, /"code":"no_capacity"/.test(await beside.text())], [503, true]);
    await stop();
    for (let i = 0; i < 3; i++) assert.equal((await chat(platform, { text: "one at a time" })).status, 200);
    await eventually("it is through", async () => (await read("fresh")).probation === null);
    const running = [await keepRunning(), await keepRunning()];
    assert.equal((await chat(platform, { text: "a third beside them" })).status, 200);
    for (const stop of running) await stop();
  });

  test("a host with a node in quarantine: its next node gets no work, until an operator has looked", async () => {
    const { id: bad } = await serve("bad", "small-8b");
    await admin("quarantine", bad, "--reason", "smoke");
    await eventually("it is cut off", async () => (await chat(platform, {}, { model: "small-8b" })).status === 503);
    const { id: next, withheld } = await serve("next", "small-8b");
    assert.equal(withheld, "host_quarantine");
    assert.equal((await chat(platform, {}, { model: "small-8b" })).status, 503);
    assert.equal((await chat(platform, {}, { model: "tiny-3b" })).status, 200, "what was there before goes on");
    assert.match(await admin("list"), new RegExp(`${next}.*no work: its host has a node in quarantine`));
    await admin("clear", next);
    assert.equal((await read("next")).withheld, null);
    await eventually("it serves", async () => (await chat(platform, {}, { model: "small-8b" })).status === 200);
    const [act] = await platform.query("select action, subject, outcome from operator_action order by id desc limit 1");
    assert.deepEqual(act, { action: "node.clear", subject: next, outcome: "done" });
  });
});
