/** A host's machine: runs `tollgate-host` commands and the agent. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually, HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import { BehaviorMismatch } from "../outcome.ts";
import { endSession } from "../servers/process-session.ts";

const TOLLGATE_HOST = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));

interface How {
  env?: Record<string, string>;
  input?: string;
}

interface Said {
  /** The exit code; null if the command hung and was killed. */
  code: number | null;
  out: string;
  err: string;
}

export class HostCommands {
  readonly #home: string;
  #serving: { child: ChildProcess; said: string; ended: Promise<number | null> } | undefined;

  constructor(home: string) {
    this.#home = home;
  }

  /** Returns a command's output; throws its error message if it fails. */
  async run(args: string[], how: How = {}): Promise<string> {
    const { code, out, err } = await this.ask(args, how);
    if (code !== 0) throw new BehaviorMismatch(`tollgate-host ${args[0]} ended with ${code}: ${err || out}`);
    return out;
  }

  /** Runs a command that may fail, and returns its exit code and output. */
  async ask(args: string[], { env = {}, input = "" }: How = {}): Promise<Said> {
    const child = this.#spawn(args, env, { timeout: HANG_LIMIT_MS });
    let [out, err] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text) => (out += text));
    child.stderr?.setEncoding("utf8").on("data", (text) => (err += text));
    child.stdin?.end(input);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, out, err };
  }

  /** Starts `tollgate-host up` and waits until it reports that it is online. */
  async up(env: Record<string, string> = {}): Promise<void> {
    const child = this.#spawn(["up"], env, { detached: true });
    child.stdin?.end();
    const serving = { child, said: "", ended: new Promise<number | null>((resolve) => child.once("close", resolve)) };
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        serving.said += text;
      });
    this.#serving = serving;
    await eventually("the node is online", () => {
      if (child.exitCode !== null)
        throw new BehaviorMismatch(`tollgate-host up ended with ${child.exitCode}: ${serving.said}`);
      return /^online /m.test(serving.said);
    });
  }

  get isUp(): boolean {
    return this.#serving?.child.exitCode === null && this.#serving.child.signalCode === null;
  }

  /** The process session of the running agent, which contains all of its processes. */
  get session(): number {
    const pid = this.#serving?.child.pid;
    if (pid === undefined) throw new Error("the agent does not run");
    return pid;
  }

  async kill(): Promise<void> {
    if (this.#serving === undefined) return;
    endSession(this.session);
    await this.#serving.ended;
    this.#serving = undefined;
  }

  #spawn(args: string[], env: Record<string, string>, options: { timeout?: number; detached?: boolean }): ChildProcess {
    const { TOLLGATE_HOST_TOKEN: _token, OLLAMA_HOST: _ollama, ...rest } = process.env;
    return spawn(process.execPath, [TOLLGATE_HOST, ...args], {
      ...options,
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...rest, XDG_CONFIG_HOME: join(this.#home, "config"), ...env },
    });
  }
}
