/**
 * What honest users see while somebody attacks: a steady light load from a thread of its own, measured in a quiet moment and
 * during the attack of the same run. The machine may be slow, and attackers run on it too: what a server that has nothing to do
 * with the platform takes longer meanwhile is taken off. One bad measurement may be the machine's; three are the gateway's.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Stage } from "./stage.ts";
import type { Orders, Sample, Told } from "./users-at-work.ts";

const EVERY_MS = 40;
const QUIET_MS = 2_000;
/** An attack that is over sooner is watched for as long. */
const ATTACK_MS_MIN = 1_500;
const ADDED_MS_MAX = 100;
/** The gateway's loop, by its own account: far above what a busy machine does to it, far below a freeze. */
const LOOP_DELAY_MS_MAX = 300;
const TRIES = 3;
/** A gateway that has little to do waits next to nothing on a machine that is free. */
const STARVED_SHARE = 0.5;
/** What no load of others explains. */
const FREEZE_MS = 2_000;

/** A server in a process of its own that answers at once. */
const CONTROL = `import { createServer } from "node:http";
const server = createServer((_request, response) => setImmediate(() => response.end("ok")));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;

/** Milliseconds. */
interface Times {
  p50: number;
  p99: number;
}

export interface Figures {
  count: number;
  users: Times;
  /** Of the server that has nothing to do with the platform. */
  control: Times;
  errors: string[];
}

export class HonestUsers {
  readonly #worker: Worker;
  readonly #control: ChildProcess;
  #stopped: Promise<unknown> | undefined;

  /** `model` must be served by a node with the scripted engine. */
  static async start(stage: Stage, { key, model }: { key: string; model: string }): Promise<HonestUsers> {
    const control = spawn(process.execPath, ["--input-type=module", "-e", CONTROL], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [port] = (await once(control.stdout as NonNullable<typeof control.stdout>, "data")) as [Buffer];
    const workerData: Orders = {
      baseUrl: stage.baseUrl,
      key,
      model,
      controlUrl: `http://127.0.0.1:${String(port).trim()}/`,
      everyMs: EVERY_MS,
    };
    return new HonestUsers(new Worker(new URL("./users-at-work.ts", import.meta.url), { workerData }), control);
  }

  private constructor(worker: Worker, control: ChildProcess) {
    this.#worker = worker;
    this.#control = control;
  }

  /** How the requests fared that began while `during` ran. */
  async watch(during: () => Promise<unknown>): Promise<Figures> {
    const now = (): number => performance.timeOrigin + performance.now();
    const from = now();
    await during();
    const until = now();
    this.#worker.postMessage("report");
    const [told] = (await once(this.#worker, "message")) as [Told];
    const inside = (samples: Sample[]): Sample[] => samples.filter(({ at }) => at >= from && at <= until);
    const [users, control] = [inside(told.users), inside(told.control)];
    const errors = users.flatMap(({ wrong }) => (wrong === null ? [] : [wrong]));
    return { count: users.length, users: timesOf(users), control: timesOf(control), errors };
  }

  async stop(): Promise<void> {
    this.#stopped ??= once(this.#worker, "exit");
    this.#worker.postMessage("stop");
    await this.#stopped;
    this.#control.kill();
  }
}

const timesOf = (samples: Sample[]): Times => ({ p50: quantile(samples, 0.5), p99: quantile(samples, 0.99) });

function quantile(samples: Sample[], share: number): number {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** The longest that the gateway's loop was busy at a stretch since it was last asked, as it says itself. */
export async function loopDelayMs(stage: Stage): Promise<number> {
  const seconds = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await stage.metrics())?.[1];
  assert.ok(seconds !== undefined, "the metrics tell the loop's delay");
  return Number(seconds) * 1000;
}

const shown = ({ count, users, control }: Figures): string => {
  const times = ({ p50, p99 }: Times): string => `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;
  return `${count} requests, ${times(users)} (elsewhere ${times(control)})`;
};

/** What the attack added, less what the machine did. */
function addedMs(quiet: Figures, attacked: Figures, of: keyof Times): number {
  return attacked.users[of] - quiet.users[of] - Math.max(0, attacked.control[of] - quiet.control[of]);
}

/**
 * How long the gateway's main thread ran, and how long it was ready and had to wait for a processor, as the kernel says.
 * Undefined where the kernel does not say.
 */
function scheduled(stage: Stage): { ranMs: number; waitedMs: number } | undefined {
  const file = `/proc/${stage.pid}/task/${stage.pid}/schedstat`;
  if (!existsSync(file)) return undefined;
  const [ran, waited] = readFileSync(file, "utf8").split(" ").map(Number) as [number, number];
  return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
}

/** Whether others kept the machine so busy that delays say nothing of the gateway: it waited longer than it ran. */
function wasStarved(before: ReturnType<typeof scheduled>, after: ReturnType<typeof scheduled>): boolean {
  if (before === undefined || after === undefined) return false;
  return after.waitedMs - before.waitedMs > STARVED_SHARE * (after.ranMs - before.ranMs);
}

/**
 * Runs the attack beside honest users: no error, and no noticeable delay. Repeated where the figures are bad. Where others keep
 * the machine busy, already before the attack, the slowest requests are theirs, and the median is judged.
 */
export async function assertUnharmed(
  t: TestContext,
  { stage, users, attack }: { stage: Stage; users: HonestUsers; attack: () => Promise<unknown> },
): Promise<void> {
  const told: string[] = [];
  while (told.length < TRIES) {
    const before = scheduled(stage);
    const quiet = await users.watch(() => sleep(QUIET_MS));
    const starved = wasStarved(before, scheduled(stage));
    await loopDelayMs(stage);
    const attacked = await users.watch(() => Promise.all([attack(), sleep(ATTACK_MS_MIN)]));
    const loopMs = await loopDelayMs(stage);
    const text = `quiet: ${shown(quiet)}; attacked: ${shown(attacked)}; the gateway's loop at most ${loopMs.toFixed(0)} ms`;
    t.diagnostic(starved ? `${text}; the machine is busy with other things` : text);
    assert.deepEqual(quiet.errors, [], "before the attack");
    assert.deepEqual(attacked.errors, [], "honest users see no error");
    assert.ok(attacked.count > 10, `${attacked.count} requests were made meanwhile`);
    const unharmed = starved
      ? addedMs(quiet, attacked, "p50") <= ADDED_MS_MAX && loopMs <= FREEZE_MS
      : addedMs(quiet, attacked, "p99") <= ADDED_MS_MAX && loopMs <= LOOP_DELAY_MS_MAX;
    if (unharmed) return;
    told.push(text);
  }
  assert.fail(`honest users noticed the attack, ${TRIES} times in a row:\n${told.join("\n")}`);
}
