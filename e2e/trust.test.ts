/** How far a platform trusts nodes that it does not know: one request at a time, and no work for a barred host's new ones. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { keepBusy, startNode } from "./fixtures.ts";
import { chat, newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform, tollgate } from "./platform.ts";

interface NodeObject {
  id: string;
  name: string;
  state: string;
  probation: { answers: number; needed: number } | null;
  withheld: string | null;
}

const TOKEN_MS = 60;

describe("new nodes", () => {
  let dataDir: string;
  let platform: Platform;
  const started: ChildProcess[] = [];
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node"], { PROBATION_ANSWERS: "3", HOST_SANCTION: "true" });
    await raiseLimits(platform);
  });
  after(async () => {
    for (const node of started) node.kill("SIGKILL");
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
  /** Asks for answers that take a while, all at once, and tells when a node accepted each: in milliseconds, in order. */
  const acceptances = async (count: number): Promise<number[]> => {
    const orders = { tokens: 10, delta_ms: TOKEN_MS };
    const answers = await Promise.all(Array.from({ length: count }, () => chat(platform, orders)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(count).fill(200),
    );
    const rows = await platform.query<{ at: number }>(
      `select extract(epoch from created_at)::float8 * 1000 + queue_ms as at from request order by id desc limit $1`,
      [count],
    );
    return rows.map(({ at }) => at).sort((a, b) => a - b);
  };

  test("one request at a time until so many were answered well; then all its slots", async () => {
    const node = await serve("fresh", "tiny-3b");
    assert.deepEqual(node.probation, { answers: 0, needed: 3 });
    await eventually("it is online", async () => (await read("fresh")).state === "online");
    const [first, second, third] = (await acceptances(3)) as [number, number, number];
    // An answer takes as long as its tokens do, however fast the machine is.
    assert.ok(second - first > 5 * TOKEN_MS && third - second > 5 * TOKEN_MS, `${[first, second, third]}`);
    await eventually("it is through", async () => (await read("fresh")).probation === null);
    const busy = await Promise.all([keepBusy(platform, "tiny-3b"), keepBusy(platform, "tiny-3b")]);
    assert.equal((await chat(platform, { text: "a third beside them" })).status, 200);
    for (const stop of busy) await stop();
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
