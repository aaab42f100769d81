/**
 * The local nodes of a development platform: ordinary host agents, each its own process, started as a host would start
 * them. They are in their own process groups, so that a Ctrl-C reaches the gateway first; they stop when told, and also
 * when the channel to this process breaks, so none is left behind.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { SETTINGS } from "../config.ts";

const AGENT = fileURLToPath(new URL("../../../host/bin/tollgate-host.mjs", import.meta.url));
const ONLINE_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;
const RESTART_AFTER_MS = 2_000;

export interface NodeOptions {
  name: string;
  gatewayUrl: string;
  hostToken: string;
  engine: string;
  models: string[];
  dataDir: string;
  log: Log;
}

/** What the agent reports once it serves. */
export interface Online {
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

  /** Starts the agent and waits until it serves; its last words become the error if it does not. */
  static async start(options: NodeOptions): Promise<{ node: LocalNode; online: Online }> {
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
    const { name, gatewayUrl, hostToken, engine, models, dataDir } = this.#options;
    const log = openSync(join(dataDir, `${name}.log`), "a", 0o600);
    const args = ["up", "--gateway", gatewayUrl, "--name", name, "--engine", engine, "--models", models.join(",")];
    try {
      return spawn(process.execPath, [AGENT, ...args], {
        detached: true,
        stdio: ["ignore", log, log, "ipc"],
        // By environment, not by argument: arguments are visible to every user of the machine.
        env: { ...withoutSettings(process.env), TOLLGATE_HOST_TOKEN: hostToken },
      });
    } finally {
      closeSync(log);
    }
  }

  #untilOnline(): Promise<Online> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const cancel = systemClock.after(ONLINE_WITHIN_MS, () => reject(this.#failed("did not come online in time")));
      child.once("error", (error) => reject(error));
      child.once("exit", () => reject(this.#failed("stopped before it came online")));
      child.on("message", (message: Online | { type: "failed"; message: string }) => {
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
      log.warn({ name, code, signal }, "a local node stopped; it is started again");
      systemClock.after(RESTART_AFTER_MS, () => {
        if (this.#stopping) return;
        this.#child = this.#spawn();
        this.#restartWhenLost();
      });
    });
  }
}

/** A node needs none of the gateway's settings, and some of them are secrets. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SETTINGS.includes(name)));
}
