/**
 * Runs simulated worlds on several threads and reports their results in order. If each world is run twice, the two runs
 * are on different threads, so that state left in a thread cannot make them equal.
 */
import { Worker } from "node:worker_threads";
import type { WorldOutcome } from "./simulate.ts";
import type { Plan } from "./world-plan.ts";

export interface WorldResult {
  plan: Plan;
  outcome: WorldOutcome;
  /** The result of the second run; undefined if the world was run only once. */
  again: WorldOutcome | undefined;
}

/** How many worlds per thread may start before earlier ones are reported. */
const AHEAD = 3;

/**
 * The size of a thread's young generation in MB. A world creates many short-lived objects; with a large young
 * generation the garbage collector copies few of them.
 */
const YOUNG_MB = 64;

export async function* runWorldsOnThreads(
  plans: Iterable<Plan>,
  { threads, isTwice }: { threads: number; isTwice: (turn: number) => boolean },
): AsyncGenerator<WorldResult> {
  const crew = Array.from({ length: threads }, () => new Hand());
  const handOf = (turn: number): Hand => crew[turn % threads] as Hand;
  const inFlight: Promise<WorldResult>[] = [];
  try {
    let turn = 0;
    for (const plan of plans) {
      const [one, other] = [handOf(turn).live(plan), isTwice(turn) ? handOf(turn + 1).live(plan) : undefined];
      const both = Promise.all([one, other]).then(([outcome, again]) => ({ plan, outcome, again }));
      // The error is thrown later, when the result is awaited. Until then it must not count as an unhandled rejection.
      both.catch(() => {});
      inFlight.push(both);
      turn += 1;
      if (inFlight.length >= AHEAD * threads) yield await (inFlight.shift() as Promise<WorldResult>);
    }
    for (const lived of inFlight) yield await lived;
  } finally {
    await Promise.all(crew.map((hand) => hand.leave()));
  }
}

/** A worker thread, which runs one world after the other. */
class Hand {
  readonly #worker = new Worker(new URL("./world-thread.ts", import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  readonly #waiting: { resolve: (outcome: WorldOutcome) => void; reject: (error: unknown) => void }[] = [];

  constructor() {
    this.#worker.on("message", (outcome: WorldOutcome) => this.#waiting.shift()?.resolve(outcome));
    this.#worker.on("error", (error) => {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  live(plan: Plan): Promise<WorldOutcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.postMessage(plan);
    });
  }

  async leave(): Promise<void> {
    await this.#worker.terminate();
  }
}
