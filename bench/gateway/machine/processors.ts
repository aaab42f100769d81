/**
 * Who runs where. What is measured (a gateway and its database) has the last processor for itself; the engine, the host's
 * agent and the load generator share the others. Requests per second are then those of one processor.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

export interface Processors {
  /** As `taskset -c` takes it; null: wherever the system puts it. */
  measured: string | null;
  others: string | null;
}

export function shareProcessors(pin: boolean): Processors {
  const count = availableParallelism();
  if (!pin || count < 2 || spawnSync("taskset", ["--version"]).status !== 0) return { measured: null, others: null };
  const others = count === 2 ? "0" : `0-${count - 2}`;
  execFileSync("taskset", ["-acp", others, String(process.pid)], { stdio: "ignore" });
  return { measured: String(count - 1), others };
}

/** The command line that starts a program on these processors. */
export function on(processors: string | null, command: string[]): [program: string, args: string[]] {
  const [program = "", ...args] = processors === null ? command : ["taskset", "-c", processors, ...command];
  return [program, args];
}
