import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { createProcess } from "../killable-process.ts";
import { eventually, failIfHung } from "../wait.ts";
import { explainMissingNetwork, openNetwork } from "./network-namespace.ts";

const skip = (await explainMissingNetwork()) ?? false;

const SERVER = `
  require("node:http").createServer((_, answer) => answer.end("here")).listen(8080, process.argv[1]);
`;

test("a test can disconnect a process from its network without closing connections, and reconnect it", {
  skip,
}, async (t) => {
  const network = await openNetwork();
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-test-"));
  // Connects without `fetch`, which would stop trying after ten seconds.
  const ask = (): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ host: network.far, port: 8080, agent: false }, (answer) => void text(answer).then(resolve, reject)).on(
        "error",
        reject,
      );
    });
  const server = createProcess({
    name: "far",
    command: network.inside([process.execPath, "-e", SERVER, network.far]),
    log: join(directory, "log"),
    ready: () => ask().then(Boolean, () => false),
  });
  t.after(async () => {
    await server.kill();
    await network.close();
    await rm(directory, { recursive: true });
  });
  await server.start();
  network.cut();
  const asked = ask();
  await eventually("TCP repeats its first packet, which nobody answers", () => isRepeating(network.far, 8080));
  assert.ok(network.isCut() && server.running());
  network.heal();
  assert.equal(await failIfHung("what was asked over the cut cable is answered", asked), "here");
  assert.equal(await ask(), "here");
});

/**
 * Returns whether a connection to `ip` has sent its SYN more than once: a row of /proc/net/tcp in the state SYN_SENT
 * with retransmits.
 */
async function isRepeating(ip: string, port: number): Promise<boolean> {
  const bytes = ip.split(".").map(Number);
  // The address as the kernel prints it on little-endian machines.
  const remote = `${Buffer.from(bytes).reverse().toString("hex")}:${port.toString(16).padStart(4, "0")}`.toUpperCase();
  const rows = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((row) => row.trim().split(/\s+/));
  return rows.some(
    ([, , to, state, , , repeats]) => to === remote && state === "02" && Number.parseInt(repeats ?? "0", 16) > 0,
  );
}
