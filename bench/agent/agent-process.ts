/**
 * Runs the agent with the fake engine, in a process of its own: `node agent-process.ts CHECKOUT ENGINE_URL`. CHECKOUT
 * is the repository folder with the agent's sources, so that two versions can be compared.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pino from "pino";
import type { PlaneCredentials } from "../../host/src/agent/plane-connection.ts";
import { FAKE_MODEL } from "../gateway/fake-engine.ts";

const [checkout = "", engineUrl = ""] = process.argv.slice(2);
const source = (path: string): string => pathToFileURL(join(checkout, "host/src", path)).href;
const { Agent } = (await import(source("agent/agent.ts"))) as typeof import("../../host/src/agent/agent.ts");
const { connectToNats: dialNats } = (await import(
  source("agent/connect-to-nats.ts")
)) as typeof import("../../host/src/agent/connect-to-nats.ts");
const { systemClock } = (await import(source("clock.ts"))) as typeof import("../../host/src/clock.ts");
const { openAiEngine } = (await import(
  source("engines/openai-engine.ts")
)) as typeof import("../../host/src/engines/openai-engine.ts");

const SLOTS = 2048;

process.once("message", ({ node, credentials }: { node: string; credentials: PlaneCredentials }) => {
  const names = new Map([["tiny-3b", FAKE_MODEL]]);
  const agent = new Agent({
    node,
    version: "tollgate-host/bench",
    engine: openAiEngine({ name: "bench", url: engineUrl, models: names, slots: SLOTS, clock: systemClock }),
    models: [...names.keys()],
    credentials: async () => credentials,
    dial: dialNats,
    clock: systemClock,
    log: pino({ level: "info" }),
    status: ({ type }) => process.send?.({ type }),
  });
  agent.start();
});
process.on("disconnect", () => process.exit(0));
// Exits normally, so that Node writes a profile (`--cpu-prof`).
process.on("SIGTERM", () => process.exit(0));
