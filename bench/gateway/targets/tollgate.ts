/**
 * Our own gateway, as `npm start` runs it, with the private PostgreSQL (durable: fsync on) and a host's agent in front of
 * the fake engine. Gateway and database share the measured processor; the agent is the host's, and runs with the engine.
 */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@tollgate/stage/process.ts";
import pg from "pg";
import { readIfExists } from "../../../gateway/src/base/files.ts";
import { dollars } from "../../../gateway/src/base/money.ts";
import { findPrivatePostgres } from "../../../gateway/src/db/embedded.ts";
import { type GatewayCommand, gatewayCommand } from "../command.ts";
import { MODEL } from "../engine.ts";
import { Child } from "../processes.ts";
import { commitOf } from "../results.ts";
import type { Role, StartTarget, Surroundings, Target } from "./target.ts";

const OWN_CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));
const AGENT = "host/bin/tollgate-host.mjs";
const CATALOGUE = "gateway/catalogue/models.json";
const MODELS = { chat: "tiny-3b", embedding: "embed-m3" };

/** More than any scenario asks for. */
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
 * The same with the scripted engine inside the agent: without HTTP to an engine the node is cheap enough to keep the gateway
 * busy. Answers have about 100 tokens, whatever is asked; for scenarios that do not stream.
 */
export const tollgateScripted: StartTarget = (surroundings) =>
  startScripted("tollgate-scripted", OWN_CHECKOUT, surroundings);

/** The gateway and agent of another checkout, to see in one run what a change does. */
export const tollgateOf =
  (checkout: string): StartTarget =>
  async (surroundings) => ({ ...(await start("beside", checkout, surroundings)), version: commitOf(checkout) });

export const tollgateScriptedOf =
  (checkout: string): StartTarget =>
  async (surroundings) => ({
    ...(await startScripted("beside-scripted", checkout, surroundings)),
    version: commitOf(checkout),
  });

/**
 * Ours in front of engines that are no fake ones: for each an agent of its own, with these flags. It takes as many requests at once
 * as its engine says. `vectorWidth`: of the embeddings, where they are other than the catalogue's.
 */
export const tollgateBefore =
  (engines: readonly string[][], { vectorWidth }: { vectorWidth?: number } = {}): StartTarget =>
  (surroundings) =>
    start("tollgate", OWN_CHECKOUT, surroundings, engines, vectorWidth);

const startScripted = async (name: string, checkout: string, surroundings: Surroundings): Promise<Target> => ({
  ...(await start(name, checkout, surroundings, [["--engine", "scripted", ...ROOMY]])),
  wholeAnswersOnly: true,
});

async function start(
  name: string,
  checkout: string,
  surroundings: Surroundings,
  engines: readonly string[][] = [overHttp(surroundings)],
  vectorWidth?: number,
): Promise<Target> {
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
  const inspectors: Target["inspectors"] = {};
  /** Flags of Node for that process: an inspector where the run makes profiles. */
  const flagsOf = async (role: Role): Promise<string[]> => {
    const { flags = [] } = surroundings.preload?.(role) ?? {};
    if (!surroundings.profile) return flags;
    inspectors[role] = await freePort();
    return [...flags, `--inspect=127.0.0.1:${inspectors[role]}`];
  };
  let gateway: Child | undefined;
  const agents: Child[] = [];
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
      // The first is the one that is measured.
      const inspected = nth === 0 ? await flagsOf("agent") : [];
      const command = [process.execPath, ...inspected, join(checkout, AGENT)];
      agents.push(await startAgent(nth === 0 ? name : `${name}-${nth + 1}`, surroundings, ready, command, engine));
    }
    const [agent] = agents as [Child];
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
  { processors, outDir, preload }: Surroundings,
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
): Promise<Child> {
  // As root the database runs as another user, who has to pass through.
  await chmod(dataDir, 0o711);
  const catalogue = join(dataDir, "models.json");
  await writeFile(catalogue, await roomyCatalogue(original, vectorWidth));
  const flags = ["--no-node", "--port", "0", "--data", dataDir, "--ready-file", join(dataDir, "ready.json")];
  return new Child({
    name,
    command: [...command, "dev", ...flags],
    processors: processors.measured,
    outDir,
    env: { ...env, ...preload?.("gateway").env, CATALOGUE_FILE: catalogue, INTERNAL_PORT: "0" },
  });
}

/** The catalogue with room for the load: places for all, any speed, and a context that holds a prompt of 100 KB. */
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

function readyFile(gateway: Child, file: string): Promise<Ready> {
  return gateway.eventually(async () => {
    const text = await readIfExists(file);
    return text === undefined ? undefined : (JSON.parse(text) as Ready);
  });
}

/** Nothing of what a key may do, or pay for, may be what the load meets. Before the key's first use: it is remembered. */
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
  // Builder and host of `dev` are one identity, whose own requests earn nothing of granted credit. The load is that of strangers.
  await client.query("delete from account_owner where account_id in (select id from account where kind = 'host')");
  await client.end();
}

function overHttp({ engine }: Surroundings): string[] {
  const map = Object.values(MODELS).map((model) => `${model}=${MODEL}`);
  return ["--engine", "openai", "--engine-url", engine.url, "--map", map.join(","), ...ROOMY];
}

async function startAgent(
  name: string,
  { processors, outDir, preload }: Surroundings,
  ready: Ready,
  command: string[],
  engine: string[],
): Promise<Child> {
  const flags = ["--gateway", ready.base_url, "--name", name, ...engine];
  const agent = new Child({
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
