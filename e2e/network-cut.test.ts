/**
 * A node whose network is cut, without a word of goodbye: it runs in a network namespace of its own, and its cable (a pair
 * of virtual interfaces) is pulled. Needs root and `ip`; elsewhere the suite leaves itself out by name.
 */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { assertBalanced, lastRecord, untilSettled } from "@tollgate/stage/ledger-check.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const HOST_AGENT = fileURLToPath(new URL("../host/bin/tollgate-host.mjs", import.meta.url));
/** Names and addresses of this run's own, so that two runs do not meet. */
const RUN = process.pid % 60_000;
const [SPACE, NEAR, FAR] = [`tgcut${RUN}`, `tgn${RUN}`, `tgf${RUN}`];
const NET = `10.${200 + (RUN % 50)}.${(RUN >> 6) % 250}`;

/** Longer than any machine takes to pull the cable: only the stall ends it. */
const ENDLESS = { tokens: 5_000, delta_ms: 50 };

const ip = (...args: string[]): string =>
  execFileSync("ip", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Why there can be no namespace here; undefined when there is one now. */
function makeNamespace(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root for a network namespace";
  try {
    ip("netns", "add", SPACE);
    ip("link", "add", NEAR, "type", "veth", "peer", "name", FAR);
    ip("link", "set", FAR, "netns", SPACE);
    ip("addr", "add", `${NET}.1/30`, "dev", NEAR);
    ip("link", "set", NEAR, "up");
    ip("netns", "exec", SPACE, "ip", "addr", "add", `${NET}.2/30`, "dev", FAR);
    ip("netns", "exec", SPACE, "ip", "link", "set", FAR, "up");
    return undefined;
  } catch (error) {
    removeNamespace();
    return `no network namespace can be made here: ${(error as Error).message.split("\n")[0]}`;
  }
}

function removeNamespace(): void {
  try {
    ip("netns", "del", SPACE);
  } catch (error) {
    // It was never made; anything else would leave a trace in the next line.
    assert.match((error as Error).message, /ENOENT|No such file|not found|Operation not permitted|Permission denied/);
  }
}

const reason = makeNamespace();

describe("a node cut off the network", { skip: reason ?? false }, () => {
  let dataDir: string;
  let platform: Platform;
  let agent: ChildProcess;
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node"], { HOST: `${NET}.1` });
    agent = spawn(
      "ip",
      [
        "netns",
        "exec",
        SPACE,
        process.execPath,
        HOST_AGENT,
        "up",
        "--gateway",
        platform.ready.base_url,
        "--name",
        "far",
        "--engine",
        "scripted",
        "--models",
        "tiny-3b",
      ],
      { env: { ...process.env, TOLLGATE_HOST_TOKEN: platform.ready.host_token }, stdio: "ignore" },
    );
    await eventually("the far node serves", async () => (await chat(platform, { text: "x" })).status === 200);
  });
  after(async () => {
    const ended = once(agent, "exit");
    agent.kill("SIGKILL");
    await ended;
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
    removeNamespace();
  });

  test("the client is told of the stall, what was delivered is billed, and the node comes back with the cable", async () => {
    const response = await chat(platform, ENDLESS, { stream: true, max_tokens: 5_000 });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    const read = async (): Promise<boolean> => {
      const { done, value } = await reader.read();
      text += Buffer.from(value ?? []).toString();
      return !done;
    };
    while (text.length < 1000) assert.ok(await read());
    ip("link", "set", NEAR, "down");
    while (await read());
    assert.match(text, /"code":"upstream_stall"/);
    assert.ok(!text.includes("[DONE]"));
    const record = await lastRecord(platform);
    assert.equal(record.outcome, "upstream_stall");
    assert.ok(record.completion_tokens > 0 && BigInt(record.charge_pico) > 0n && BigInt(record.host_pico) > 0n);
    await assertBalanced(platform);
    // Nothing can serve now: refused within the deadline, not left hanging.
    const refused = await chat(platform, { text: "x" });
    assert.equal(refused.status, 503);
    // Taking an interface down takes its address along.
    ip("link", "set", NEAR, "up");
    await eventually("it serves again", async () => (await chat(platform, { text: "back" })).status === 200);
    await untilSettled(platform);
    await assertBalanced(platform);
  });
});
