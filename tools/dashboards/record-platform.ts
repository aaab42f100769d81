/**
 * Records eight minutes of a whole platform with Prometheus: the platform of chaos/ (two gateways, their servers, four
 * agents) under mixed load. Meanwhile a node becomes unreachable, many requests arrive at once, and each server fails
 * in turn for some seconds.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY_ROOT } from "@tollgate/stage/gateway-process.ts";
import { startLoad } from "@tollgate/stage/load/load.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { FAULTS } from "../../chaos/faults.ts";
import { releaseQuarantinedNodes } from "../../chaos/stage/release-quarantined-nodes.ts";
import { openStage, type Stage } from "../../chaos/stage/stage.ts";
import { Prometheus } from "../../e2e/outside/prometheus.ts";
import { STRIPE_SETTINGS } from "../../e2e/outside/stripe-mock.ts";
import { type ExtraLoad, startExtraLoad } from "./additional-load.ts";

export const SCRAPE_INTERVAL_S = 5;
const SEED = 17;
const CALM_S = 25;

/** The start and end of a recording, in seconds since 1970. */
export interface Recording {
  from: number;
  to: number;
}

type Scene = (stage: Stage, trouble: ExtraLoad) => Promise<void>;

const SCENES: Record<string, Scene> = {
  "all is well": () => sleep(60),
  "a node goes away": async ({ agents: [agent] }) => {
    await agent?.end();
    await sleep(60);
    await agent?.start();
  },
  "a crowd comes": (_, trouble) => trouble.crowd(),
  ...Object.fromEntries(
    [
      ...[
        "agent frozen 5 s",
        "database unreachable 8 s",
        "Valkey killed",
        "every NATS server killed",
        "gateway killed",
      ],
      "rolling restart",
    ].map((name) => [name, fault(name)]),
  ),
  "all is well again": () => sleep(20),
};

export async function recordPlatform(folder: string, say: (line: string) => void): Promise<Recording> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const stage = await openStage({
    ...{ postgres: 18, nats: "newest", holdLeaseS: 20, root: REPOSITORY_ROOT, clocks: false, cuts: false, say },
    settings: STRIPE_SETTINGS,
  });
  try {
    const targets = Object.fromEntries(
      stage.gateways.map(({ name, internalPort }) => [name, `127.0.0.1:${internalPort}`]),
    );
    const prometheus = await Prometheus.open({ targets, everyS: SCRAPE_INTERVAL_S, keepIn: join(folder, "scraped") });
    try {
      return await play(stage, folder, say);
    } finally {
      await prometheus.close();
    }
  } finally {
    await stage.close({ keep: false });
  }
}

async function play(stage: Stage, folder: string, say: (line: string) => void): Promise<Recording> {
  await stage.admin(["ledger", "check"]);
  const load = startLoad({
    customers: stage.customers,
    chance: new SeededRandom(String(SEED)),
    now: () => performance.now(),
  });
  const trouble = await startExtraLoad(stage);
  const from = Date.now() / 1000;
  for (const [name, scene] of Object.entries(SCENES)) {
    say(name);
    await scene(stage, trouble);
    await sleep(CALM_S);
    await releaseQuarantinedNodes(stage);
  }
  const recording = { from, to: Date.now() / 1000 };
  await Promise.all([trouble.stop(), load.stop()]);
  await writeFile(join(folder, "recording.json"), JSON.stringify(recording));
  return recording;
}

/** Returns a scene that applies a fault of chaos/ and heals it after its usual duration. */
function fault(name: string): Scene {
  const { strike, lasts } = FAULTS.find((one) => one.name === name) ?? failOn(name);
  return async (stage) => {
    const heal = await strike(stage, new SeededRandom(String(SEED)));
    await sleep(lasts);
    await heal();
  };
}

function failOn(name: string): never {
  throw new Error(`chaos/faults.ts has no fault "${name}"`);
}

const sleep = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
