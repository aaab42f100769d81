/**
 * A whole platform with one engine: the engine, a gateway, and a host's machine with the agent between them. The
 * gateway sends no canaries and enforces no maximum speed, because the tiny model is not the one in the catalogue. An
 * additional model in the catalogue serves the tiny model's embeddings.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage as openPlatform, type ProcessStage } from "@tollgate/stage/stage.ts";
import { type EmbeddingModel, type EngineUnderTest, TINY_EMBEDDINGS } from "../engine-under-test.ts";
import type { TinyModel } from "../model/model.ts";
import type { Server } from "../servers/start-server.ts";
import { BuilderClient } from "./builder-client.ts";
import { HostCommands } from "./host-commands.ts";

const SPEED_NOBODY_REACHES = 1_000_000;

export interface Stage {
  engine: EngineUnderTest;
  model: TinyModel;
  platform: ProcessStage;
  /** The host's token. */
  hostToken: string;
  host: HostCommands;
  builder: BuilderClient;
  /** The engine's URL; empty for an engine inside the agent. */
  url: string;
  /** The agent's environment, in addition to what `elect` stored. */
  upEnv: Record<string, string>;
  /** Returns the process session that runs the model. */
  engineSession(): number;
  killEngine(): Promise<void>;
  startEngine(): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(engine: EngineUnderTest, model: TinyModel): Promise<Stage> {
  const home = await mkdtemp(join(tmpdir(), `tollgate-engines-${engine.id}-`));
  const host = new HostCommands(home);
  const port = await findFreePort();
  const url = engine.start === undefined ? "" : `http://127.0.0.1:${port}`;
  let server: Server | undefined;
  let platform: ProcessStage | undefined;
  const startEngine = async (): Promise<void> => {
    server = await engine.start?.(model, port, join(home, "engine.log"));
  };
  const killEngine = async (): Promise<void> => {
    await server?.kill();
    server = undefined;
  };
  const close = async (): Promise<void> => {
    await host.kill();
    await killEngine();
    await platform?.close();
    await rm(home, { recursive: true, force: true });
  };
  try {
    await startEngine();
    const env = async (dataDir: string): Promise<Record<string, string>> => ({
      ...NO_QUARANTINE_OR_PROBATION_ENV,
      CATALOGUE_FILE: await writeCatalogue(dataDir, engine),
    });
    platform = await openPlatform({ as: "processes", env });
  } catch (error) {
    await close();
    throw error;
  }
  const engineSession = (): number => server?.session ?? host.session;
  const { key } = await platform.builder();
  const builder = new BuilderClient({ gateway_url: platform.baseUrl, api_key: key });
  const { token: hostToken } = await platform.host();
  return {
    engine,
    model,
    platform,
    hostToken,
    host,
    builder,
    url,
    upEnv: {},
    engineSession,
    killEngine,
    startEngine,
    close,
  };
}

/**
 * Writes a copy of the gateway's catalogue, with the tiny model's properties where they differ from the real model's.
 */
async function writeCatalogue(dataDir: string, { embeds }: EngineUnderTest): Promise<string> {
  const unasked = { canaries: [], tps_max: SPEED_NOBODY_REACHES };
  const builtIn = new URL("../../gateway/catalogue/models.json", import.meta.url);
  const catalogue = JSON.parse(await readFile(builtIn, "utf8")) as { models: Entry[] };
  const models = catalogue.models.map((model) => ({ ...model, ...unasked, ...withWidth(model, embeds) }));
  const { model: id, width } = TINY_EMBEDDINGS;
  const build = { id: `${id}-1`, tokenizer: "llama3", vector_width: width };
  const embedding = { ...models.find((model) => model.id === "embed-m3"), id, build };
  const file = join(dataDir, "models.json");
  await writeFile(file, JSON.stringify({ ...catalogue, models: [...models, embedding] }));
  return file;
}

interface Entry {
  id: string;
  build: object;
}

function withWidth({ id, build }: Entry, embeds: EmbeddingModel | undefined): object {
  return embeds?.model === id ? { build: { ...build, vector_width: embeds.width } } : {};
}
