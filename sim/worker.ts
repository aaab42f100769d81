/** A thread of the crew: lives through the plans that it is sent, one after the other, and tells how each came out. */
import { parentPort } from "node:worker_threads";
import type { Plan } from "./plan.ts";
import { type Outcome, simulate } from "./simulate.ts";
import { loadTokens } from "./tokens.ts";

const tokens = loadTokens();
let last: Promise<unknown> = tokens;

parentPort?.on("message", (plan: Plan) => {
  last = last.then(async () => {
    const outcome: Outcome = await simulate(plan, await tokens);
    // Whoever wants to read it lives through it once more.
    parentPort?.postMessage({ ...outcome, trace: [] });
  });
});
