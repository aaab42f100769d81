/**
 * Provides the dispatch planes that suites run on: the hub inside the gateway, and a NATS server that is set up with
 * the operators' command.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";
import {
  type NatsProcess,
  runNatsServer,
  skipWithoutNats as skip,
} from "../gateway/src/plane/nats/testing-nats-server.ts";
import { runTollgate } from "./dev-platform.ts";
import { findFreePort } from "./killable-process.ts";

export const skipWithoutNats = skip;

export interface RunningPlane {
  /** The environment variables for gateways. */
  env: Record<string, string>;
  close(): Promise<void>;
}

export interface NatsPlane extends RunningPlane {
  server: NatsProcess;
}

const hub = async (): Promise<RunningPlane> => ({ env: {}, close: async () => {} });

interface NatsTraits {
  scheme?: "nats" | "tls";
  /** The paths of a TLS certificate and its key. */
  tls?: { cert: string; key: string };
}

export async function openNats({ scheme = "nats", tls }: NatsTraits = {}): Promise<NatsPlane> {
  const place = await mkdtemp(join(tmpdir(), "tollgate-plane-"));
  const port = await findFreePort();
  const init = runTollgate([
    "admin",
    "plane",
    "init",
    "--dir",
    place,
    "--url",
    `${scheme}://127.0.0.1:${port}`,
    "--json",
  ]);
  assert.equal(await init.ended, 0, init.output());
  if (tls !== undefined) {
    const file = join(place, "nats-server.conf");
    const more = `\ntls { cert_file: "${tls.cert}", key_file: "${tls.key}" }\n`;
    await writeFile(file, (await readFile(file, "utf8")) + more);
  }
  const lines = (await readFile(join(place, "gateway.env"), "utf8")).trimEnd().split("\n");
  const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const server = await runNatsServer(place, port);
  return {
    env,
    server,
    async close() {
      await server.kill();
      await rm(place, { recursive: true, force: true });
    },
  };
}

/**
 * Defines the suite twice: on the embedded hub and on NATS. Both run in parallel, because they mostly wait. Without
 * nats-server, the suite on NATS is skipped with a message.
 */
export function describeOnEveryPlane(name: string, suite: (openPlane: () => Promise<RunningPlane>) => void): void {
  describe(name, { concurrency: 2 }, () => {
    describe(`${name}, on the embedded hub`, { concurrency: 1 }, () => suite(hub));
    describe(`${name}, on NATS`, { skip, concurrency: 1 }, () => suite(openNats));
  });
}
