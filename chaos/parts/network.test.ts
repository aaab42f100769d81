import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openNetwork, whyNoNetwork } from "./network.ts";
import { newProcess, until } from "./processes.ts";

const skip = (await whyNoNetwork()) ?? false;

const SERVER = `
  require("node:http").createServer((_, answer) => answer.end("here")).listen(8080, process.argv[1]);
`;

test("a process in a network of its own is cut off without a word, and comes back with the cable", {
  skip,
}, async (t) => {
  const network = await openNetwork();
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-test-"));
  const ask = (withinMs: number): Promise<string> =>
    fetch(`http://${network.far}:8080`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(withinMs),
    }).then((answer) => answer.text());
  const server = newProcess({
    name: "far",
    command: network.inside([process.execPath, "-e", SERVER, network.far]),
    log: join(directory, "log"),
    ready: () => ask(1000).then(Boolean, () => false),
  });
  t.after(async () => {
    await server.kill();
    await network.close();
    await rm(directory, { recursive: true });
  });
  await server.start();
  network.cut();
  await assert.rejects(ask(500));
  assert.ok(network.isCut() && server.running());
  network.heal();
  await until("it is back", 20_000, () =>
    ask(1000).then(
      (text) => text === "here",
      () => false,
    ),
  );
});
