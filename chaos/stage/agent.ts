/** One host's agent of the stage with the scripted engine, under a supervisor. */
import { join } from "node:path";
import { newProcess } from "../parts/processes.ts";
import { bareEnvironment, ROOT } from "./gateway.ts";
import { type Supervised, supervise } from "./supervised.ts";

interface AgentOptions {
  name: string;
  directory: string;
  /** Where it asks for its credentials. */
  gatewayUrl: string;
  hostToken: string;
  models: readonly string[];
  slots: number;
  wrapper?: string[];
}

export function newAgent(options: AgentOptions): Supervised {
  const { name, directory, gatewayUrl, hostToken, models, slots, wrapper = [] } = options;
  const flags = ["--gateway", gatewayUrl, "--name", name, "--engine", "scripted", "--models", models.join(",")];
  const agent = newProcess({
    name,
    command: [
      ...wrapper,
      ...[process.execPath, join(ROOT, "host/bin/tollgate-host.mjs"), "up", ...flags, "--slots", String(slots)],
    ],
    log: join(directory, `${name}.log`),
    environment: { ...bareEnvironment(), TOLLGATE_HOST_TOKEN: hostToken },
  });
  return supervise(agent, { endWithinMs: 15_000 });
}
