/**
 * Runs three NATS servers in one cluster, set up with the operators' command. Each can be killed, frozen and restarted.
 */

import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isNatsServerReady } from "../../gateway/src/plane/nats/testing-nats-server.ts";
import { natsReleases } from "../../tools/nats-servers.ts";
import { createProcess, findFreePort, type Process } from "../killable-process.ts";
import { eventually } from "../wait.ts";

const SERVER_COUNT = 3;

interface NatsOptions {
  /** "newest", "oldest" (if installed), "debian", or the path of a nats-server. */
  release?: string;
}

export interface Nats {
  /** The environment variables for gateways; agents use its `NODE_EXTRA_CA_CERTS` too. */
  readonly environment: Record<string, string>;
  readonly version: string;
  /** The number of servers; their numbers begin with 0. */
  readonly size: number;
  running(server: number): boolean;
  kill(server: number): Promise<void>;
  start(server: number): Promise<void>;
  stop(server: number): void;
  cont(server: number): void;
  /** Stops a server in the normal way, which sends its clients to other servers, and starts it again. */
  restart(server: number): Promise<void>;
  /** Restarts one server after another; each restart begins when the previous server is back in the cluster. */
  rollingRestart(): Promise<void>;
  logs(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

interface Place {
  name: string;
  port: number;
  route: number;
}

const TOLLGATE = fileURLToPath(new URL("../../gateway/bin/tollgate.mjs", import.meta.url));

export async function startNats({ release = "newest" }: NatsOptions = {}): Promise<Nats> {
  const binary = findBinary(release);
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-nats-"));
  const places: Place[] = [];
  for (let i = 1; i <= SERVER_COUNT; i++)
    places.push({ name: String(i), port: await findFreePort(), route: await findFreePort() });
  initialise(directory, places);
  const servers = places.map(({ name, port }) =>
    createProcess({
      name: `nats-${name}`,
      command: [binary, "-c", `nats-${name}.conf`],
      directory,
      log: join(directory, `nats-${name}.log`),
      ready: () => isNatsServerReady(port),
    }),
  );
  const server = (i: number): Process => {
    const one = servers[i];
    if (one === undefined) throw new Error(`there is no NATS server ${i}`);
    return one;
  };
  await Promise.all(servers.map((each) => each.start()));
  const connected = (i: number, from: number): Promise<unknown> =>
    eventually(`${server(i).name} has found the others`, async () => {
      const found = (await server(i).log()).slice(from).matchAll(/Route connection created/g);
      return [...found].length >= SERVER_COUNT - 1;
    });
  await Promise.all(servers.map((_, i) => connected(i, 0)));
  const restart = async (i: number): Promise<void> => {
    const from = (await server(i).log()).length;
    // Stops the server in NATS's "lame duck" mode, in which it sends its clients away a few at a time. Waits for it
    // only 15 s.
    await server(i).end("SIGUSR2", 15_000);
    await server(i).start();
    await connected(i, from);
  };
  return {
    environment: await readEnvironment(directory),
    version: versionOf(binary),
    size: SERVER_COUNT,
    running: (i) => server(i).running(),
    kill: (i) => server(i).kill(),
    start: (i) => server(i).start(),
    stop: (i) => server(i).stop(),
    cont: (i) => server(i).cont(),
    restart,
    async rollingRestart() {
      for (let i = 0; i < SERVER_COUNT; i++) await restart(i);
    },
    async logs() {
      const entries = servers.map(async ({ name, log }) => [name, await log()] as const);
      return Object.fromEntries(await Promise.all(entries));
    },
    async close() {
      for (const each of servers) await each.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function findBinary(release: string): string {
  const releases = natsReleases();
  const found =
    release === "newest"
      ? releases[0]
      : release === "oldest"
        ? releases.at(-1)
        : { path: release === "debian" ? "/usr/sbin/nats-server" : release };
  if (found === undefined) throw new Error("nats-server is not installed");
  return found.path;
}

function versionOf(binary: string): string {
  const said = spawnSync(binary, ["--version"], { encoding: "utf8" });
  if (said.status !== 0) throw new Error(`${binary} does not run: ${said.error?.message ?? said.stderr}`);
  return /v(\d\S*)/.exec(said.stdout)?.[1] ?? said.stdout.trim();
}

/** All files are in one directory; each server reads its own. */
function initialise(directory: string, places: Place[]): void {
  const servers = places.map(({ name, port, route }) => `${name}=127.0.0.1:${port}@127.0.0.1:${route}`).join(",");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [TOLLGATE, "admin", "plane", "init", "--dir", directory, "--servers", servers],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`plane init: ${stdout}${stderr}`);
}

async function readEnvironment(directory: string): Promise<Record<string, string>> {
  const lines = (await readFile(join(directory, "gateway.env"), "utf8")).trimEnd().split("\n");
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}
