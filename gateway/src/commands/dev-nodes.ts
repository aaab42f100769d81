/**
 * Runs the local nodes of a development platform: ordinary host agents, each in its own process group, so that Ctrl-C
 * signals only the gateway. They stop on request, or when their channel to this process breaks, so that no agent is
 * left running.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../base/clock.ts";
import { parseId, publicId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { BuiltGateway } from "../build.ts";
import { SETTING_NAMES } from "../config.ts";
import type { ListedNode } from "../fleet/fleet.ts";

const AGENT = "tollgate-host/bin/tollgate-host.mjs";
const ONLINE_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;
const RESTART_AFTER_MS = 2_000;

interface NodeOptions {
  /** The path of the host agent's program. */
  agent: string;
  name: string;
  gatewayUrl: string;
  hostToken: string;
  engine: string;
  models: string[];
  dataDir: string;
  log: Log;
}

/** Finds the host agent's program. It is a separate package that a gateway alone does not need. */
export function findAgent(specifier = AGENT): string {
  try {
    return fileURLToPath(import.meta.resolve(specifier));
  } catch (cause) {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    throw new Error(
      `A local node needs the npm package tollgate-host: npm install tollgate-host@${version}, or start without one (--no-node).`,
      { cause },
    );
  }
}

/** The message that the agent sends once its node serves. */
export interface AgentOnlineMessage {
  type: "online";
  node: string;
  engine: string;
  models: string[];
  slots: number;
}

export class LocalNode {
  readonly #options: NodeOptions;
  #child: ChildProcess;
  #stopping = false;

  /** Starts the agent and waits until its node serves. If the agent exits first, the error contains its last output. */
  static async start(options: NodeOptions): Promise<{ node: LocalNode; online: AgentOnlineMessage }> {
    const node = new LocalNode(options);
    try {
      const online = await node.#untilOnline();
      node.#restartWhenLost();
      return { node, online };
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  private constructor(options: NodeOptions) {
    this.#options = options;
    this.#child = this.#spawn();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    if (child.connected) child.send({ type: "stop" });
    else child.kill("SIGTERM");
    const cancel = systemClock.after(STOP_WITHIN_MS, () => child.kill("SIGKILL"));
    await gone;
    cancel();
  }

  #spawn(): ChildProcess {
    const { agent, name, gatewayUrl, hostToken, engine, models, dataDir } = this.#options;
    const log = openSync(join(dataDir, `${name}.log`), "a", 0o600);
    const args = ["up", "--gateway", gatewayUrl, "--name", name, "--engine", engine, "--models", models.join(",")];
    if (engine === "auto") args.push("--demo-fallback");
    try {
      return spawn(process.execPath, [agent, ...args], {
        detached: true,
        stdio: ["ignore", log, log, "ipc"],
        // Passed in the environment, because every user of the machine can read a process's arguments.
        env: { ...withoutSettings(process.env), TOLLGATE_HOST_TOKEN: hostToken },
      });
    } finally {
      closeSync(log);
    }
  }

  #untilOnline(): Promise<AgentOnlineMessage> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const cancel = systemClock.after(ONLINE_WITHIN_MS, () => reject(this.#failed("did not come online in time")));
      child.once("error", (error) => reject(error));
      child.once("exit", () => reject(this.#failed("stopped before it came online")));
      child.on("message", (message: AgentOnlineMessage | { type: "failed"; message: string }) => {
        if (message.type === "online") resolve(message);
        if (message.type === "failed") reject(new Error(message.message));
        cancel();
      });
    });
  }

  #failed(what: string): Error {
    const { name, dataDir } = this.#options;
    return new Error(`The local node ${name} ${what}; see ${join(dataDir, `${name}.log`)}`);
  }

  #restartWhenLost(): void {
    this.#child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      const { name, log } = this.#options;
      log.warn({ name, code, signal }, "a local node stopped; restarting it");
      systemClock.after(RESTART_AFTER_MS, () => {
        if (this.#stopping) return;
        this.#child = this.#spawn();
        this.#restartWhenLost();
      });
    });
  }
}

/** Finds the node records of the local nodes with these names. */
export async function findLocalNodes(
  { hostTokens, fleet }: Pick<BuiltGateway, "hostTokens" | "fleet">,
  { host_token }: { host_token: string },
  names: string[],
): Promise<ListedNode[]> {
  const holder = await hostTokens.authenticate(`Bearer ${host_token}`);
  if (holder === undefined) return [];
  const found: ListedNode[] = [];
  for (let page = await fleet.list(holder.accountId, { limit: 100 }); page.length > 0; ) {
    found.push(...page);
    page = await fleet.list(holder.accountId, { after: page.at(-1)?.id, limit: 100 });
  }
  return found.filter(({ name }) => names.includes(name));
}

interface Place {
  consoleUrl: string;
  dataDir: string;
}

/**
 * Waits until a connected node may receive requests. If its node record prevents that, returns a note about the reason.
 */
export async function waitUntilServing(
  { fleet, nodeOnline }: Pick<BuiltGateway, "fleet" | "nodeOnline">,
  nodeId: string,
  place: Place,
): Promise<string | undefined> {
  const id = parseId("node", nodeId);
  const node = id === undefined ? undefined : await fleet.find(null, id);
  const note = node === undefined ? undefined : explainNodeWithoutRequests(node, place);
  if (note !== undefined) return note;
  return await new Promise((resolve, reject) => {
    const cancel = systemClock.after(ONLINE_WITHIN_MS, () => resolve(`${nodeId} takes no requests yet.`));
    nodeOnline(nodeId)
      .then(() => resolve(undefined), reject)
      .finally(cancel);
  });
}

/** Says why a node receives no requests and how to change that; undefined if it may serve. */
export function explainNodeWithoutRequests(
  { id, name, standing, quarantine, withheld, hostSuspended }: ListedNode,
  { consoleUrl, dataDir }: Place,
): string | undefined {
  const node = publicId("node", id);
  const page = `${consoleUrl}/host/nodes/${node}`;
  if (standing === "paused") return `${name} is paused and takes no requests. Resume it: ${page}`;
  if (standing === "quarantined") {
    const release = `npx tollgate admin node release ${node} --data ${dataDir}`;
    return `${name} is in quarantine (${quarantine?.reason ?? "no reason"}). Release it (${release}), then start again and resume it: ${page}`;
  }
  if (hostSuspended) return `${name} gets no requests: the account of its host is suspended.`;
  if (withheld !== null) return `${name} gets no requests: another local node is in quarantine. See ${page}`;
  return undefined;
}

/** Removes the gateway's settings, which nodes do not need and some of which are secret. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SETTING_NAMES.includes(name)));
}
