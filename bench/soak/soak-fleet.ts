/**
 * Runs the nodes of a soak (a load test of several hours): two agents that stay, one that connects and disconnects
 * repeatedly, and a light node (a connection without an agent) that joins and leaves every few seconds.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openHostAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import type { Process } from "@tollgate/stage/killable-process.ts";
import { callNodeApi, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { answerHonestly } from "@tollgate/stage/nodes/node-behaviours.ts";
import { createSoakAgent, MODELS, type SoakPlatform } from "./soak-platform.ts";

const STAYS_MS = 60_000;
const AWAY_MS = 20_000;
const LIGHT_STAYS_MS = 9_000;
const LIGHT_AWAY_MS = 3_000;
/** After joining and leaving this many times, the light node joins under a new ID, and its earlier ID is retired. */
const VISITS_PER_NODE = 20;
/** One of this many visits ends with SIGKILL instead of SIGTERM. */
const KILLED_ONE_IN = 3;

type Count = (kind: string, outcome: string) => void;

export class SoakFleet {
  readonly #platform: SoakPlatform;
  readonly #outDir: string;
  readonly #count: Count;
  readonly #over = new AbortController();
  readonly #agents: Process[] = [];
  #comings: Promise<void>[] = [];

  constructor(platform: SoakPlatform, outDir: string, count: Count) {
    this.#platform = platform;
    this.#outDir = outDir;
    this.#count = count;
  }

  async start(): Promise<void> {
    for (const name of ["stays-1", "stays-2"]) {
      const agent = createSoakAgent(this.#platform, this.#outDir, name);
      this.#agents.push(agent);
      await agent.start();
    }
    this.#comings = [
      this.#comesAndGoes("agent", (nth) => this.#visit(nth)),
      this.#comesAndGoes("light node", this.#lightVisits()),
    ];
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#comings);
    for (const agent of this.#agents) await agent.end("SIGTERM");
  }

  async #comesAndGoes(kind: string, visit: (nth: number) => Promise<void>): Promise<void> {
    for (let nth = 0; !this.#over.signal.aborted; nth++) {
      try {
        await visit(nth);
        this.#count(kind, "came and went");
      } catch (error) {
        if (this.#over.signal.aborted) return;
        this.#count(kind, (error as Error).message.split("\n")[0] ?? "");
        await this.#pause(AWAY_MS);
      }
    }
  }

  async #visit(nth: number): Promise<void> {
    const agent = createSoakAgent(this.#platform, this.#outDir, "comes-and-goes");
    await agent.start();
    await this.#pause(STAYS_MS);
    if (nth % KILLED_ONE_IN === 0) await agent.kill();
    else await agent.end("SIGTERM");
    await this.#pause(AWAY_MS);
  }

  #lightVisits(): (nth: number) => Promise<void> {
    const stage = { baseUrl: this.#platform.ready.gateway_url, balance: async () => 0n };
    const behaviour = answerHonestly(undefined, { delayMs: 50 });
    const hosting = openHostAccount(this.#platform.query);
    let last: string | undefined;
    return async (nth) => {
      const host = await hosting;
      const name = `light-${Math.floor(nth / VISITS_PER_NODE)}`;
      const node = await HandMadeNode.join(stage, host, { name, models: MODELS.slice(0, 1), behaviour, waits: false });
      if (last !== undefined && last !== node.id) await callNodeApi(stage, host.token, "POST", `/nodes/${last}/retire`);
      last = node.id;
      await this.#pause(LIGHT_STAYS_MS);
      await node.leave();
      await this.#pause(LIGHT_AWAY_MS);
    };
  }

  /** Waits, but no longer than until the run ends. */
  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => undefined);
  }
}
