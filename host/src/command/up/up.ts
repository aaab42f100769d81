/**
 * `tollgate-host up`: opens the engine, registers the node if it is new, elects the models, then serves until it is
 * stopped.
 */
import type { CommandInput } from "@tollgate/terminal/command.ts";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { Agent } from "../../agent/agent.ts";
import type { PlaneCredentials, PlaneDialer } from "../../agent/plane-connection.ts";
import type { Clock } from "../../clock.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Command, CommandContext } from "../command.ts";
import { convertToCommandFailure } from "../errors.ts";
import { type EngineSettings, parseUpFlags, UP_FLAGS, type UpFlags } from "../flags.ts";
import { type GatewayClient, gatewayClient } from "../gateway/gateway-client.ts";
import { toStoredSettings } from "../login-file.ts";
import { findHardware, hardwareReport } from "../machine/hardware.ts";
import { openLocalEngine } from "../open-local-engine.ts";
import type { Supervisor } from "../service-supervisor.ts";
import { createPlainReporter, jsonReporter, type Reporter } from "./reporter.ts";
import { screenReporter } from "./screen.ts";

const DRAIN_MS_MAX = 30_000;

export const upCommand: Command = {
  help: "serve requests as a node",
  flags: UP_FLAGS,
  more: [
    "After tollgate-host login, register and elect, this command needs no flags.",
    "If the engine needs a key, set the environment variable TOLLGATE_ENGINE_KEY. If Ollama's address has changed since you ran tollgate-host elect, set OLLAMA_HOST to the new one. The command waits for an engine that is still loading.",
    "Ctrl-C finishes the requests in flight, then stops; a second Ctrl-C stops at once.",
  ],
  example: "",
  async run(given, context) {
    const supervisor = context.supervisor();
    try {
      const flags = await readFlags(given, context);
      await serveUntilStopped(flags, context, supervisor);
      return 0;
    } catch (error) {
      await supervisor.tell({ type: "failed", message: convertToCommandFailure(error).message });
      throw error;
    }
  },
};

/** Parses the flags, with the stored settings unless --gateway is given. */
async function readFlags(given: CommandInput, { env, logins }: CommandContext): Promise<UpFlags> {
  const login = given.flags.gateway === undefined ? await logins.read() : undefined;
  if (login === undefined && given.flags.gateway === undefined)
    throw new CommandError("this machine is not logged in", {
      next: "run tollgate-host login, or set everything with flags (tollgate-host up --help)",
    });
  return parseUpFlags(given, env, login && toStoredSettings(login));
}

async function serveUntilStopped(flags: UpFlags, context: CommandContext, supervisor: Supervisor): Promise<void> {
  const reporter = createReporter(flags, context);
  const stop = new AbortController();
  void supervisor.stopRequested.then(() => stop.abort());
  try {
    if (flags.setAside !== undefined) context.terminal.remark(`note: ${asideSentence(flags.setAside)}`);
    const serving = await Promise.race([prepare(flags, context, reporter, stop.signal), supervisor.stopRequested]);
    if (serving === undefined) return; // The command was stopped before the node served.
    await serve(serving, context, { reporter, supervisor });
  } finally {
    reporter.close();
  }
}

/** Everything that is needed to serve. */
interface ServingNode {
  engine: Engine;
  node: string;
  models: string[];
  dial: PlaneDialer;
  gateway: GatewayClient;
  credentials: () => Promise<PlaneCredentials>;
}

function asideSentence({ engine, engineUrl, addresses = {}, modelFile }: EngineSettings): string {
  const found = Object.entries(addresses).map(([kind, url]) => `${kind} at ${url}`);
  const elected = engineUrl ?? modelFile ?? (found.join(" and ") || engine);
  return `the flags name the engine, so the stored one (${elected}) is not used this time`;
}

/** Waits for an engine that is still loading, without a time limit. */
async function prepare(
  flags: UpFlags,
  context: CommandContext,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<ServingNode> {
  const patience = { waitMs: Number.POSITIVE_INFINITY, tell: reporter.waiting, signal };
  const { engine, models, plane } = await openLocalEngine(flags, context, patience);
  reporter.engine(engine);
  try {
    return await joinPlatform({ engine, models, dial: plane(context.dial) }, flags, { context, reporter });
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function joinPlatform(
  { engine, models, dial }: Pick<ServingNode, "engine" | "models" | "dial">,
  flags: UpFlags,
  { context, reporter }: { context: CommandContext; reporter: Reporter },
): Promise<ServingNode> {
  const gateway = gatewayClient(flags);
  const node = await identify(gateway, flags, context);
  const { name, agent, hardware } = await gateway.elect(node, models);
  // A new version of the agent registers the node again, so that the gateway lists the version that runs.
  if (agent != null && agent !== context.version)
    await gateway.register({ name, hardware: hardware ?? {}, agent: context.version });
  // The first credentials are fetched here, so that a refusal ends the command. Later failures are retried.
  let first: PlaneCredentials | undefined = await gateway.credentials(node);
  reporter.node({ node, gateway: gateway.address, models });
  const credentials = async (): Promise<PlaneCredentials> => {
    const next = first ?? (await gateway.credentials(node));
    first = undefined;
    return next;
  };
  return { engine, node, models, dial, gateway, credentials };
}

async function identify(gateway: GatewayClient, { identity }: UpFlags, context: CommandContext): Promise<string> {
  if ("id" in identity) return identity.id;
  const known = (await gateway.nodes()).find((node) => node.name === identity.name && node.state !== "retired");
  if (known !== undefined) return known.id;
  const hardware = hardwareReport(await findHardware(context.machine));
  const registered = await gateway.register({ name: identity.name, hardware, agent: context.version });
  return registered.id;
}

async function serve(
  serving: ServingNode,
  { version, clock }: CommandContext,
  { reporter, supervisor }: { reporter: Reporter; supervisor: Supervisor },
): Promise<void> {
  const { engine, node, models, gateway } = serving;
  let announced = false;
  const agent = new Agent({
    ...serving,
    version,
    clock,
    log: reporter.log,
    status(status) {
      reporter.log.info(
        { type: status.type, ...("reason" in status ? { err: status.reason } : {}) },
        "the connection changed",
      );
      reporter.status(status);
      if (status.type !== "online" || announced) return;
      announced = true;
      void supervisor.tell({ type: "online", node, engine: engine.name, models, slots: engine.slots });
    },
  });
  reporter.serving(() => agent.snapshot());
  agent.start();
  const stopWatching = supervisor.hasParent ? () => {} : watchStats({ gateway, node, clock, reporter });
  await supervisor.stopRequested;
  reporter.stopping();
  await agent.drain(DRAIN_MS_MAX, supervisor.hurry);
  stopWatching();
  await engine.close();
  reporter.stopped();
}

/** Chooses the output: a live screen on a terminal, plain lines elsewhere, JSON lines with --json. */
export function createReporter(flags: Pick<UpFlags, "json" | "logLevel">, context: CommandContext): Reporter {
  if (flags.json) return jsonReporter(flags.logLevel, context);
  return context.terminal.watched
    ? screenReporter(flags.logLevel, context)
    : createPlainReporter(flags.logLevel, context);
}

interface StatsWatch {
  gateway: Pick<GatewayClient, "stats">;
  node: string;
  clock: Clock;
  reporter: Pick<Reporter, "stats" | "statsMissing" | "statsEveryMs">;
}

/**
 * Fetches the node's statistics from the gateway regularly, one request at a time. Returns a function that stops this.
 */
export function watchStats({ gateway, node, clock, reporter }: StatsWatch): () => void {
  let stopped = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    try {
      const stats = await gateway.stats(node);
      if (!stopped) reporter.stats(stats);
    } catch (error) {
      if (!stopped) reporter.statsMissing(error instanceof Error ? error : new Error(String(error)));
    }
    if (!stopped) cancel = clock.after(reporter.statsEveryMs, () => void look());
  };
  void look();
  return () => {
    stopped = true;
    cancel();
  };
}
