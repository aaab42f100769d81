/**
 * Nodes that flood the plane with all the connections they may have: they are cut off, others are served as before, and
 * neither the log nor the memory grows with what they send.
 */
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { encode } from "../protocol/src/codec.ts";
import { RawNode } from "./fuzz/plane/raw-node.ts";
import { assertBalanced } from "./ledger-check.ts";
import { type OpenPlane, onEveryPlane } from "./planes.ts";
import { chat, eventually, newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform } from "./platform.ts";

/** Connections that a node may have. */
const CONNECTIONS = 4;
/** About so much leaves in one write. */
const WRITE_BYTES = 64 * 1024;
/** Far more than it takes. */
const FLOOD_MS_MAX = 40_000;
/** A few lines about each node. */
const LOG_BYTES_MAX = 16 * 1024;

const state = (models: string[]): Buffer =>
  encode({ kind: "state", state: { protocol: "1.0", agent: "flood", slots: 0, busy: 0, models, draining: false } });
const job = "06dfk3zq9v8n2x4m7t1c5w0rbe-01";
const deltas = Array.from({ length: 1024 }, (_, seq) => ({ job, seq, channel: "answer" as const, text: "x" }));

const FLOODS: { name: string; subject: (node: RawNode, gateway: string) => string; payload: Buffer }[] = [
  { name: "malformed states", subject: ({ id }) => `tg.s.${id}`, payload: Buffer.from("\x01\x17{") },
  {
    name: "states with 250 models",
    subject: ({ id }) => `tg.s.${id}`,
    payload: state(Array.from({ length: 250 }, (_, i) => `model-of-some-length-${i}`)),
  },
  {
    name: "malformed frames",
    subject: ({ id }, gateway) => `tg.g.${gateway}.${id}`,
    payload: Buffer.from("\x01\x10{"),
  },
  {
    name: "output of jobs that are not there",
    subject: ({ id }, gateway) => `tg.g.${gateway}.${id}`,
    payload: encode({ kind: "deltas", deltas }),
  },
];

onEveryPlane("floods", (openPlane) => {
  describe("a node with four connections", () => {
    let dataDir: string;
    let plane: OpenPlane;
    let platform: Platform;
    let gateway: string;
    before(async () => {
      plane = await openPlane();
      dataDir = await newDataDir();
      platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], plane.env);
      await raiseLimits(platform);
      gateway = await gatewayOf(platform);
    });
    after(async () => {
      assert.equal(await platform?.stop(), 0);
      await plane?.close();
      await removeDataDir(dataDir);
    });
    afterEach(async () => {
      await eventually("no hold is left", async () => (await platform.query("select id from hold")).length === 0);
      await assertBalanced(platform);
    });

    for (const { name, subject, payload } of FLOODS) {
      test(`${name}: it is cut off, others are served, the log stays short`, async (t) => {
        const node = await RawNode.join(platform, name.replaceAll(" ", "-"), ["small-8b"]);
        const lines = [node, ...Array.from({ length: CONNECTIONS - 1 }, () => node.twin())];
        for (const line of lines) assert.equal(await line.connect(), true);
        const before = await logBytes(platform);
        const message = { subject: subject(node, gateway), payload };
        const chunk = Array.from({ length: Math.ceil(WRITE_BYTES / (payload.length + 60)) }, () => message);
        const until = performance.now() + FLOOD_MS_MAX;
        let flooding = true;
        const floods = lines.map(async (line) => {
          while (line.isConnected && performance.now() < until) {
            await line.publish(chunk);
            await new Promise((resolve) => setImmediate(resolve));
          }
        });
        const cut = Promise.all(lines.map((line) => line.gone())).finally(() => {
          flooding = false;
        });
        const latencies: number[] = [];
        do {
          const at = performance.now();
          const answer = await chat(platform, { text: "calm" });
          assert.equal(answer.status, 200, await answer.text());
          latencies.push(Math.round(performance.now() - at));
        } while (flooding && performance.now() < until);
        assert.equal(flooding, false, "it was cut off");
        await Promise.all([cut, ...floods]);
        t.diagnostic(`others took ${latencies.sort((a, b) => a - b).join(", ")} ms`);
        const grown = (await logBytes(platform)) - before;
        assert.ok(grown < LOG_BYTES_MAX, `the log grew by ${grown} bytes`);
      });
    }
  });
});

const logBytes = async ({ dataDir }: Platform): Promise<number> => (await stat(join(dataDir, "gateway.log"))).size;

/** A gateway's name stands in the jobs it sends: a node that joins is sent one to try it. */
async function gatewayOf(platform: Platform): Promise<string> {
  const node = await RawNode.join(platform, "listener", ["small-8b"]);
  assert.equal(await node.connect(), true);
  await node.publish([{ subject: `tg.s.${node.id}`, payload: readyState() }]);
  await eventually("the gateway sends it a job", () => node.jobs.length > 0);
  node.leave();
  return node.gateway;
}

const readyState = (): Buffer =>
  encode({
    kind: "state",
    state: { protocol: "1.0", agent: "listener", slots: 1, busy: 0, models: ["small-8b"], draining: false },
  });
