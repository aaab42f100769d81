/**
 * Tollgate's gateway, as `npm start` runs it, with the private PostgreSQL (durable: fsync on) and a host's agent in
 * front of the fake engine. Gateway and database share the measured processor; the agent belongs to the host and runs
 * beside the engine.
 */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import pg from "pg";
import { dollars } from "../../../gateway/src/base/money.ts";
import { readIfExists } from "../../../gateway/src/base/read-if-exists.ts";
import { findPrivatePostgres } from "../../../gateway/src/db/private-postgres.ts";
import { BenchProcess } from "../bench-process.ts";
import { FAKE_MODEL } from "../fake-engine.ts";
import { type GatewayCommand, gatewayCommand } from "../gateway-command.ts";
import { readCommit } from "../result-files.ts";
import type { ProcessRole, StartTarget, Target, TargetOptions } from "./target.ts";

const OWN_CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));
const AGENT = "host/bin/tollgate-host.mjs";
const CATALOGUE = "gateway/catalogue/models.json";
const MODELS = { chat: "tiny-3b", embedding: "embed-m3" };

/** Gives a node more slots (concurrent requests) than any scenario uses. */
const ROOMY = ["--slots", "2048"];
const ADMISSION_MAX = 100_000;
const CONTEXT_LIMIT = 131_072;
const TOKENS_PER_SECOND_MAX = 1_000_000_000;
const CREDIT = dollars(1_000_000);

interface Ready {
  base_url: string;
  api_key: string;
  host_token: string;
  pids: { gateway: number; postgres: number };
}

export const tollgate: StartTarget = (surroundings) => start("tollgate", OWN_CHECKOUT, surroundings);

/**
 * Tollgate with the scripted engine inside the agent: without HTTP to an engine the node is cheap enough to keep the
 * gateway busy. Answers have about 100 tokens, whatever the request asks for; streams are not measured.
 */
export const scriptedTollgate: StartTarget = (surroundings) =>
  startScripted("tollgate-scripted", OWN_CHECKOUT, surroundings);

/** The gateway and agent of another checkout, to compare two versions in one run. */
export const tollgateFromCheckout =
  (checkout: string): StartTarget =>
  async (surroundings) => ({ ...(await start("beside", checkout, surroundings)), version: readCommit(checkout) });

export const scriptedTollgateFromCheckout =
  (checkout: string): StartTarget =>
  async (surroundings) => ({
    ...(await startScripted("beside-scripted", checkout, surroundings)),
    version: readCommit(checkout),
  });

/**
 * Tollgate in front of real engines. Each engine has an agent of its own, started with the given flags. An agent
 * accepts as many concurrent requests as its engine allows. `vectorWidth`: the width of embeddings, if it differs from
 * the catalogue's.
 */
export const tollgateWithEngines =
  (engines: readonly string[][], { vectorWidth }: { vectorWidth?: number } = {}): StartTarget =>
  (surroundings) =>
    start("tollgate", OWN_CHECKOUT, surroundings, engines, vectorWidth);

const startScripted = async (name: string, checkout: string, surroundings: TargetOptions): Promise<Target> => ({
  ...(await start(name, checkout, surroundings, [["--engine", "scripted", ...ROOMY]])),
  wholeAnswersOnly: true,
});

async function start(
  name: string,
  checkout: string,
  surroundings: TargetOptions,
  engines: readonly string[][] = [overHttp(surroundings)],
  vectorWidth?: number,
): Promise<Target> {
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
  const inspectors: Target["inspectors"] = {};
  /** Returns Node's flags for this process, with an inspector if the run makes profiles. */
  const flagsOf = async (role: ProcessRole): Promise<string[]> => {
    const { flags = [] } = surroundings.preload?.(role) ?? {};
    if (!surroundings.profile) return flags;
    inspectors[role] = await findFreePort();
    return [...flags, `--inspect=127.0.0.1:${inspectors[role]}`];
  };
  let gateway: BenchProcess | undefined;
  const agents: BenchProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const agent of agents) await agent.stop();
    await gateway?.stop("SIGINT");
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    gateway = await startGateway(name, surroundings, {
      dataDir,
      ...gatewayCommand(checkout, await flagsOf("gateway")),
      catalogue: join(checkout, CATALOGUE),
      vectorWidth,
    });
    const ready = await readyFile(gateway, join(dataDir, "ready.json"));
    await liftLimits(dataDir);
    for (const [nth, engine] of engines.entries()) {
      // Only the first agent is profiled.
      const inspected = nth === 0 ? await flagsOf("agent") : [];
      const command = [process.execPath, ...inspected, join(checkout, AGENT)];
      agents.push(await startAgent(nth === 0 ? name : `${name}-${nth + 1}`, surroundings, ready, command, engine));
    }
    const [agent] = agents as [BenchProcess];
    const { base_url: baseUrl, api_key: apiKey, pids } = ready;
    return {
      name,
      address: {
        port: Number(new URL(baseUrl).port),
        models: MODELS,
        headers: { authorization: `Bearer ${apiKey}` },
      },
      parts: {
        gateway: { pid: pids.gateway, withChildren: false },
        postgres: { pid: pids.postgres, withChildren: true },
        agent: { pid: agent.pid, withChildren: false },
      },
      inspectors,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startGateway(
  name: string,
  { processors, outDir, preload }: TargetOptions,
  {
    dataDir,
    command,
    env,
    catalogue: original,
    vectorWidth,
  }: GatewayCommand & {
    dataDir: string;
    catalogue: string;
    vectorWidth: number | undefined;
  },
): Promise<BenchProcess> {
  // If the bench runs as root, the database runs as another user, who needs permission to enter the directory.
  await chmod(dataDir, 0o711);
  const catalogue = join(dataDir, "models.json");
  await writeFile(catalogue, await roomyCatalogue(original, vectorWidth));
  const flags = ["--no-node", "--port", "0", "--data", dataDir, "--ready-file", join(dataDir, "ready.json")];
  return new BenchProcess({
    name,
    command: [...command, "dev", ...flags],
    processors: processors.measured,
    outDir,
    env: { ...env, ...preload?.("gateway").env, CATALOGUE_FILE: catalogue, INTERNAL_PORT: "0" },
  });
}

/**
 * Returns the catalogue with limits above the load: slots for all requests, no maximum speed, and a context that holds
 * a prompt of 100 KB.
 */
async function roomyCatalogue(file: string, vectorWidth: number | undefined): Promise<string> {
  const catalogue: { models: { id: string; build: object }[] } = JSON.parse(await readFile(file, "utf8"));
  const models = catalogue.models.map((model) => ({
    ...model,
    admission_max: ADMISSION_MAX,
    tps_max: TOKENS_PER_SECOND_MAX,
    ...(model.id === MODELS.chat ? { context_limit: CONTEXT_LIMIT } : {}),
    ...(model.id === MODELS.embedding && vectorWidth !== undefined
      ? { build: { ...model.build, vector_width: vectorWidth } }
      : {}),
  }));
  return JSON.stringify({ ...catalogue, models });
}

function readyFile(gateway: BenchProcess, file: string): Promise<Ready> {
  return gateway.eventually(async () => {
    const text = await readIfExists(file);
    return text === undefined ? undefined : (JSON.parse(text) as Ready);
  });
}

/**
 * Raises the key's limits and credit above what the load uses. Must run before the key is first used, because the
 * gateway caches them.
 */
async function liftLimits(dataDir: string): Promise<void> {
  const connection = await findPrivatePostgres({ dataDir });
  const client = new pg.Client(connection);
  await client.connect();
  await client.query(
    "update api_key set in_flight_max = 100000, requests_per_minute_max = 100000000, tokens_per_minute_max = 1000000000000",
  );
  await client.query("select ledger_transfer(gen_random_uuid(), 'grant', account_id, $1, 'bench') from api_key", [
    CREDIT.toString(),
  ]);
  // In `dev`, builder and host have the same owner, so requests paid with granted credit earn the host nothing. Without
  // the owner's row the two accounts count as strangers.
  await client.query("delete from account_owner where account_id in (select id from account where kind = 'host')");
  await client.end();
}

function overHttp({ engine }: TargetOptions): string[] {
  const map = Object.values(MODELS).map((model) => `${model}=${FAKE_MODEL}`);
  return ["--engine", "openai", "--engine-url", engine.url, "--map", map.join(","), ...ROOMY];
}

async function startAgent(
  name: string,
  { processors, outDir, preload }: TargetOptions,
  ready: Ready,
  command: string[],
  engine: string[],
): Promise<BenchProcess> {
  const flags = ["--gateway", ready.base_url, "--name", name, ...engine];
  const agent = new BenchProcess({
    name: `${name}-agent`,
    command: [...command, "up", ...flags],
    processors: processors.others,
    outDir,
    env: { ...preload?.("agent").env, TOLLGATE_HOST_TOKEN: ready.host_token },
    channel: true,
  });
  await agent.message((message) => ((message as { type: string }).type === "online" ? true : undefined));
  return agent;
}
