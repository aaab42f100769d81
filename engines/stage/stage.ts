/**
 * One engine behind a whole platform of its own: the engine, a gateway, and a host's machine with the agent between them.
 * The gateway's catalogue has the tiny model's facts where they are not those of the real one: no test questions, no ceiling
 * of speed, and vectors of its own tokenizer and width.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeCatalogue } from "../../e2e/fixtures.ts";
import { newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform } from "../../e2e/platform.ts";
import type { EngineUnderTest } from "../engine.ts";
import type { TinyModel } from "../model/model.ts";
import { SHAPE } from "../model/weights.ts";
import { freePort, type Server } from "../servers/server.ts";
import { Builder } from "./builder.ts";
import { Host } from "./host.ts";

const SPEED_NOBODY_REACHES = 1_000_000;

export interface Stage {
  engine: EngineUnderTest;
  model: TinyModel;
  platform: Platform;
  host: Host;
  builder: Builder;
  /** Where the engine answers; empty for one inside the agent. */
  url: string;
  /** What the agent is started with, beside what `elect` remembered. */
  upEnv: Record<string, string>;
  /** The session of whatever runs the model. */
  engineSession(): number;
  killEngine(): Promise<void>;
  startEngine(): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(engine: EngineUnderTest, model: TinyModel): Promise<Stage> {
  const home = await mkdtemp(join(tmpdir(), `tollgate-engines-${engine.id}-`));
  const dataDir = await newDataDir();
  const host = new Host(home);
  const port = await freePort();
  const url = engine.start === undefined ? "" : `http://127.0.0.1:${port}`;
  let server: Server | undefined;
  let platform: Platform | undefined;
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
    await platform?.stop();
    await removeDataDir(dataDir);
    await rm(home, { recursive: true, force: true });
  };
  try {
    await startEngine();
    platform = await startPlatform(dataDir, ["--no-node"], {
      CATALOGUE_FILE: await writeCatalogue(dataDir, catalogueFor(engine)),
      PROBATION_ANSWERS: "0",
      AUTO_QUARANTINE: "false",
    });
    await raiseLimits(platform);
  } catch (error) {
    await close();
    throw error;
  }
  const engineSession = (): number => server?.session ?? host.session;
  const builder = new Builder(platform.ready);
  return { engine, model, platform, host, builder, url, upEnv: {}, engineSession, killEngine, startEngine, close };
}

function catalogueFor({ vectorWidth }: EngineUnderTest): Record<string, object> {
  const unasked = { canaries: [], tps_max: SPEED_NOBODY_REACHES };
  const build = { id: "embed-m3-engines", tokenizer: "llama3", vector_width: SHAPE.width };
  return { "tiny-3b": unasked, "embed-m3": { ...unasked, ...(vectorWidth === SHAPE.width ? { build } : {}) } };
}
