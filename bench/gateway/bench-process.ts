/**
 * Starts the processes of a run on their processors, with their output in files, and ends them with the run.
 *
 * The measured processes (a gateway and its database) have the last processor for themselves; the engine, the host's
 * agent and the load generator share the others. Requests per second are therefore those of one processor.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

export interface ProcessorAssignment {
  /** Processors in the notation of `taskset -c`; null if the operating system chooses. */
  measured: string | null;
  others: string | null;
}

export function assignProcessors(pin: boolean): ProcessorAssignment {
  const count = availableParallelism();
  if (!pin || count < 2 || spawnSync("taskset", ["--version"]).status !== 0) return { measured: null, others: null };
  const others = count === 2 ? "0" : `0-${count - 2}`;
  execFileSync("taskset", ["-acp", others, String(process.pid)], { stdio: "ignore" });
  return { measured: String(count - 1), others };
}

/** Returns the command line that starts a program on these processors. */
function on(processors: string | null, command: string[]): [program: string, args: string[]] {
  const [program = "", ...args] = processors === null ? command : ["taskset", "-c", processors, ...command];
  return [program, args];
}

const STOP_WITHIN_MS = 15_000;
const READY_WITHIN_MS = 90_000;

interface StartOptions {
  /** The name of the process, and of its log file. */
  name: string;
  command: string[];
  processors: string | null;
  outDir: string;
  env?: Record<string, string>;
  cwd?: string;
  /** The process has an IPC channel to the bench, and ends when the channel breaks. */
  channel?: boolean;
}

/**
 * The child processes that still run. The bench ends them when it ends, for whatever reason; each child ends its own.
 */
const living = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of living) child.kill("SIGTERM");
});

export class BenchProcess {
  readonly process: ChildProcess;
  readonly logFile: string;
  readonly #name: string;
  readonly #ended: Promise<void>;
  #fate: string | undefined;

  constructor(options: StartOptions) {
    this.#name = options.name;
    this.logFile = join(options.outDir, `${options.name}.log`);
    const log = openSync(this.logFile, "w");
    const [program, args] = on(options.processors, options.command);
    this.process = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, NODE_ENV: "production", ...options.env },
      stdio: ["ignore", log, log, ...(options.channel ? (["ipc"] as const) : [])],
    });
    closeSync(log);
    this.#ended = new Promise((resolve) => {
      this.process.once("error", (error) => {
        this.#fate = error.message;
        resolve();
      });
      this.process.once("exit", (code, signal) => {
        this.#fate = `exit ${code ?? signal}`;
        resolve();
      });
    });
    living.add(this.process);
    void this.#ended.then(() => living.delete(this.process));
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`${this.#name} did not start: ${this.#fate}`);
    return pid;
  }

  /** Resolves with the first message for which `pick` returns a value. */
  message<T>(pick: (message: unknown) => T | undefined): Promise<T> {
    return this.#unlessItEnds(
      new Promise((resolve) => {
        const hear = (message: unknown): void => {
          const picked = pick(message);
          if (picked === undefined) return;
          this.process.off("message", hear);
          resolve(picked);
        };
        this.process.on("message", hear);
      }),
    );
  }

  /** Calls `look` until it returns a value, for processes that do not report when they are ready. */
  eventually<T>(look: () => Promise<T | undefined>, withinMs = READY_WITHIN_MS): Promise<T> {
    const until = performance.now() + withinMs;
    const tryOn = async (): Promise<T> => {
      for (;;) {
        const found = await look();
        if (found !== undefined) return found;
        if (performance.now() > until) throw new Error(`${this.#name} was not ready in time; see ${this.logFile}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    return this.#unlessItEnds(tryOn());
  }

  async stop(signal: "SIGINT" | "SIGTERM" = "SIGTERM"): Promise<void> {
    if (this.#fate !== undefined) return;
    this.process.kill(signal);
    const kill = setTimeout(() => this.process.kill("SIGKILL"), STOP_WITHIN_MS);
    await this.#ended;
    clearTimeout(kill);
  }

  #unlessItEnds<T>(awaited: Promise<T>): Promise<T> {
    const ended = this.#ended.then((): never => {
      throw new Error(`${this.#name} ended (${this.#fate}); see ${this.logFile}`);
    });
    // Both promises race; this keeps a later rejection of the loser from counting as unhandled.
    ended.catch(() => undefined);
    awaited.catch(() => undefined);
    return Promise.race([awaited, ended]);
  }
}
