/** Runs a node as a process: `tollgate-host up` with the scripted engine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ReadyFile } from "../dev-platform.ts";
import { createProcess, makeMinimalEnvironment, type Process } from "../killable-process.ts";
import { eventually } from "../wait.ts";

const HOST = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));

/** Returns for each model whether a connected node supports output formats, according to the list of models. */
export async function readOutputFormatSupport({
  ready,
}: {
  ready: Pick<ReadyFile, "gateway_url" | "api_key">;
}): Promise<Map<string, boolean>> {
  const headers = { authorization: `Bearer ${ready.api_key}` };
  const response = await fetch(`${ready.gateway_url}/v1/models`, { headers });
  const { data } = (await response.json()) as { data: { id: string; vendor: { structured_output: boolean } }[] };
  return new Map(data.map(({ id, vendor }) => [id, vendor.structured_output]));
}

/**
 * Resolves when a node supports output formats for the model. A node comes online before it has reported the
 * capabilities of its engine.
 */
export async function waitForFormatSupport(
  platform: { ready: Pick<ReadyFile, "gateway_url" | "api_key"> },
  model: string,
): Promise<void> {
  await eventually(`a node keeps to forms for ${model}`, async () =>
    (await readOutputFormatSupport(platform)).get(model),
  );
}

interface AgentOptions {
  name: string;
  /** The URL of the gateway from which the agent gets its credentials. */
  gatewayUrl: string;
  hostToken: string;
  models: readonly string[];
  slots: number;
  logFile: string;
  env?: Record<string, string>;
  /** A command and arguments to put before the agent's command, such as a wrapper that changes its network. */
  wrapper?: string[];
}

/**
 * Creates the process `tollgate-host up` with the scripted engine without starting it. It counts as ready once its node
 * is online.
 */
export function createAgent({
  name,
  gatewayUrl,
  hostToken,
  models,
  slots,
  logFile,
  env,
  wrapper = [],
}: AgentOptions): Process {
  const flags = ["--gateway", gatewayUrl, "--name", name, "--engine", "scripted", "--models", models.join(",")];
  const agent = createProcess({
    name,
    command: [...wrapper, process.execPath, HOST, "up", ...flags, "--slots", String(slots)],
    log: logFile,
    environment: { ...makeMinimalEnvironment(), ...env, TOLLGATE_HOST_TOKEN: hostToken },
  });
  return agent;
}

/**
 * Starts a node of the platform's host with this number of slots. Resolves when the node is online; it ends with this
 * process.
 */
export async function startNode(
  platform: { ready: Pick<ReadyFile, "gateway_url" | "host_token"> },
  { name, model, slots }: { name: string; model: string; slots: number },
): Promise<Process> {
  const { gateway_url: gatewayUrl, host_token: hostToken } = platform.ready;
  const directory = await mkdtemp(join(tmpdir(), "tollgate-agent-"));
  const logFile = join(directory, "log");
  const agent = createAgent({ name, gatewayUrl, hostToken, models: model.split(","), slots, logFile });
  try {
    await agent.start();
    await eventually(`${name} is online`, async () => {
      const said = await agent.log();
      if (!agent.running()) throw new Error(`the node ${name} ended: ${said}`);
      return /^online /m.test(said);
    });
  } finally {
    // The process keeps the deleted log file open and continues to write to it.
    await rm(directory, { recursive: true });
  }
  return agent;
}
