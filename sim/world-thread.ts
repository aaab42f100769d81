/** The code of a worker thread: runs the plans that it receives, one after another, and reports the results. */
import { enableCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";
import type { Plan } from "./world-plan.ts";

// Enabled before the sources are loaded, so that threads use the cache instead of compiling them again.
enableCompileCache();
const ready = Promise.all([
  import("./simulate.ts"),
  import("./token-counting.ts").then(({ loadTokenCounting: loadTokens }) => loadTokens()),
]);
let last: Promise<unknown> = ready;

parentPort?.on("message", (plan: Plan) => {
  last = last.then(async () => {
    const [{ simulateWorld: simulate }, tokens] = await ready;
    const outcome = await simulate(plan, tokens);
    // The trace is left out: to read it, the world is run again on the main thread.
    parentPort?.postMessage({ ...outcome, trace: [] });
  });
});
