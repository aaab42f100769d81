/** `tollgate-host up`: engine, registration, election, then serving until told to stop. */
import { arch, cpus, platform, totalmem } from "node:os";
import { Agent, type AgentStatus } from "../agent/agent.ts";
import { dialNats } from "../agent/nats.ts";
import { gatewayAddress, type NodeApi, nodeApi } from "../agent/node-api.ts";
import type { PlaneCredentials } from "../agent/plane.ts";
import { systemClock } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import { createLog } from "../log.ts";
import { chooseEngine } from "./choose-engine.ts";
import { type FlagEnv, parseUpFlags, type UpFlags } from "./flags.ts";
import type { Lifeline } from "./lifeline.ts";

const DRAIN_MS_MAX = 30_000;

export interface UpContext {
  env: FlagEnv & { OLLAMA_HOST?: string | undefined };
  /** Name and version of this agent. */
  version: string;
  print: (line: string) => void;
  lifeline: Lifeline;
}

/** Resolves when the node has left the platform. */
export async function up(args: string[], context: UpContext): Promise<void> {
  const flags = parseUpFlags(args, context.env);
  const place = await Promise.race([prepare(flags, context), context.lifeline.stopRequested]);
  if (place === undefined) return; // Told to stop before there was anything to serve.
  await serve(place, flags, context);
}

/** Everything that is needed to serve. */
interface Place {
  engine: Engine;
  node: string;
  models: string[];
  credentials: () => Promise<PlaneCredentials>;
}

async function prepare(flags: UpFlags, { env, version, print }: UpContext): Promise<Place> {
  const { engine, models } = await chooseEngine(flags, { clock: systemClock, env });
  print(`engine   ${engine.name}, ${engine.slots} at once`);
  const api = nodeApi({ gateway: flags.gateway, token: flags.token });
  const node = await identify(api, flags, version);
  await api.elect(node, models);
  // Asked for here, so that a refusal ends the command; later ones are asked for until they come.
  let first: PlaneCredentials | undefined = await api.credentials(node);
  print(`node     ${node} at ${gatewayAddress(flags.gateway)}, serving ${models.join(", ")}`);
  const credentials = async (): Promise<PlaneCredentials> => {
    const next = first ?? (await api.credentials(node));
    first = undefined;
    return next;
  };
  return { engine, node, models, credentials };
}

async function identify(api: NodeApi, { identity }: UpFlags, version: string): Promise<string> {
  if ("id" in identity) return identity.id;
  const known = (await api.nodes()).find((node) => node.name === identity.name && node.state !== "retired");
  if (known !== undefined) return known.id;
  const registered = await api.register({ name: identity.name, hardware: hardware(), agent: version });
  return registered.id;
}

async function serve(place: Place, flags: UpFlags, { version, print, lifeline }: UpContext): Promise<void> {
  const { engine, node, models } = place;
  const log = createLog(flags.logLevel);
  let announced = false;
  const status = (status: AgentStatus): void => {
    log.info({ type: status.type, ...("reason" in status ? { err: status.reason } : {}) }, "the line changed");
    print(sentence(status));
    if (status.type !== "online" || announced) return;
    announced = true;
    void lifeline.tell({ type: "online", node, engine: engine.name, models, slots: engine.slots });
  };
  const agent = new Agent({ ...place, version, dial: dialNats, clock: systemClock, log, status });
  agent.start();
  await lifeline.stopRequested;
  print("stopping finishing what runs; Ctrl-C again stops at once");
  await agent.drain(DRAIN_MS_MAX, lifeline.hurry);
  await engine.close();
  print("stopped");
}

function hardware(): Record<string, string | number> {
  const processors = cpus();
  return {
    os: platform(),
    arch: arch(),
    cpu: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memory_bytes: totalmem(),
  };
}

function sentence(status: AgentStatus): string {
  if (status.type === "online") return "online   waiting for requests";
  const reason = status.reason?.message.split("\n")[0]?.replace(/\.$/, "") ?? "the connection was closed";
  return `offline  ${reason}; ${status.type === "offline" ? "reconnecting" : "trying again"}`;
}
