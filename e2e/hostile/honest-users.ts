/**
 * What honest users see while somebody attacks: a steady light load from a thread of its own, measured in a quiet moment and
 * during the attack of the same run. The machine may be slow, and attackers run on it too: what a server that has nothing to do
 * with the platform takes longer meanwhile is taken off. One bad measurement may be the machine's; three are the gateway's.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { machineUse, useBetween } from "./machine-use.ts";
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
/** Of all processors: what others may use during an attack before delays may be theirs; and the gateway must have waited. */
const OTHERS_SHARE_MAX = 0.25;
const OTHERS_WAIT_SHARE = 0.2;
/** Of the requests on such a machine: how many may be told to ask again. On one that is free, none. */
const AGAIN_SHARE_MAX = 0.1;
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

interface Figures {
  count: number;
  users: Times;
  /** Of the server that has nothing to do with the platform. */
  control: Times;
  errors: string[];
  /** How many were told to ask again. */
  again: number;
}

export class HonestUsers {
  readonly #worker: Worker;
  readonly #control: ChildProcess;
  /** Of everything that belongs to the measurement. */
  readonly pids: number[];
  #stopped: Promise<unknown> | undefined;

  /** `model` must be served by a node with the scripted engine. */
  static async start(
    stage: Stage,
    { key, model, agent }: { key: string; model: string; agent: ChildProcess },
  ): Promise<HonestUsers> {
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
    const worker = new Worker(new URL("./users-at-work.ts", import.meta.url), { workerData });
    return new HonestUsers(worker, control, [stage.pid, agent.pid as number, process.pid]);
  }

  private constructor(worker: Worker, control: ChildProcess, pids: number[]) {
    this.#worker = worker;
    this.#control = control;
    this.pids = [...pids, control.pid as number];
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
    const again = users.filter((sample) => sample.again).length;
    return { count: users.length, users: timesOf(users), control: timesOf(control), errors, again };
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
async function loopDelayMs(stage: Stage): Promise<number> {
  const seconds = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await stage.metrics())?.[1];
  assert.ok(seconds !== undefined, "the metrics tell the loop's delay");
  return Number(seconds) * 1000;
}

const shown = ({ count, users, control, again }: Figures): string => {
  const times = ({ p50, p99 }: Times): string => `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;
  return `${count} requests, ${again} of them asked again, ${times(users)} (elsewhere ${times(control)})`;
};

/** What the attack added, less what the machine did. */
function addedMs(quiet: Figures, attacked: Figures, of: keyof Times): number {
  return attacked.users[of] - quiet.users[of] - Math.max(0, attacked.control[of] - quiet.control[of]);
}

/**
 * Runs the attack beside honest users: no error, and no noticeable delay. Repeated where the figures are bad. Where others keep
 * the machine busy, the slowest requests are theirs, and the few that the platform could not take at the moment and asked to
 * send again: the median is judged, and it may be as much longer as the gateway had to wait for a processor.
 */
export async function assertUnharmed(
  t: TestContext,
  { stage, users, attack }: { stage: Stage; users: HonestUsers; attack: () => Promise<unknown> },
): Promise<void> {
  const told: string[] = [];
  while (told.length < TRIES) {
    const start = machineUse(stage.pid, users.pids);
    const quiet = await users.watch(() => sleep(QUIET_MS));
    const middle = machineUse(stage.pid, users.pids);
    await loopDelayMs(stage);
    const attacked = await users.watch(() => Promise.all([attack(), sleep(ATTACK_MS_MIN)]));
    const end = machineUse(stage.pid, users.pids);
    const loopMs = await loopDelayMs(stage);
    const during = useBetween(middle, end);
    const busy =
      useBetween(start, middle).waitShare > STARVED_SHARE ||
      (during.othersShare > OTHERS_SHARE_MAX && during.waitShare > OTHERS_WAIT_SHARE);
    const text = `quiet: ${shown(quiet)}; attacked: ${shown(attacked)}; the gateway's loop at most ${loopMs.toFixed(0)} ms${
      busy
        ? `; the machine is busy with other things: the gateway waited ${during.waitShare.toFixed(1)} times as long as it ran`
        : ""
    }`;
    t.diagnostic(text);
    assert.deepEqual(quiet.errors, [], "before the attack");
    assert.deepEqual(attacked.errors, [], "honest users see no error");
    const againMax = busy ? Math.floor(AGAIN_SHARE_MAX * attacked.count) : 0;
    assert.equal(quiet.again, 0, `told to ask again before the attack: ${text}`);
    assert.ok(attacked.again <= againMax, `more than ${againMax} were told to ask again: ${text}`);
    assert.ok(attacked.count > 10, `${attacked.count} requests were made meanwhile`);
    const unharmed = busy
      ? addedMs(quiet, attacked, "p50") <= ADDED_MS_MAX * (1 + during.waitShare) && loopMs <= FREEZE_MS
      : addedMs(quiet, attacked, "p99") <= ADDED_MS_MAX && loopMs <= LOOP_DELAY_MS_MAX;
    if (unharmed) return;
    told.push(text);
  }
  assert.fail(`honest users noticed the attack, ${TRIES} times in a row:\n${told.join("\n")}`);
}
