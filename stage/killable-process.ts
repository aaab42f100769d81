/**
 * A process of a test that can be killed, frozen and restarted, with all its child processes.
 *
 * It ends with the test, however the test ends: a small shell watches a pipe to the test and kills the process when the
 * pipe closes. Child processes are found in /proc; without /proc, only the process itself is killed and frozen.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { eventually, HANG_LIMIT_MS } from "./wait.ts";

interface ProcessOptions {
  name: string;
  command: string[];
  /** The file to which the process's output is appended. */
  log: string;
  directory?: string;
  /** The process's environment; default: the environment of the test. */
  environment?: NodeJS.ProcessEnv;
  /** The user of the process, if the test runs as root. */
  user?: { uid: number; gid: number } | undefined;
  /** The signal that the process gets when the test has ended. */
  lastSignal?: "KILL" | "QUIT" | "TERM";
  /** Checks whether the process is ready; repeated until it returns true. */
  ready?: () => Promise<boolean>;
}

export interface Process {
  readonly name: string;
  pid(): number | undefined;
  running(): boolean;
  /** Starts the process and waits until it is ready. */
  start(): Promise<void>;
  /** Kills the process and all its children with SIGKILL. */
  kill(): Promise<void>;
  /**
   * Sends the signal and waits for the process to end; kills it if that takes too long. Returns the exit code, or null
   * if the process was killed or did not run.
   */
  end(signal?: NodeJS.Signals, withinMs?: number): Promise<number | null>;
  /** Freezes the process and all its children with SIGSTOP. */
  stop(): void;
  cont(): void;
  log(): Promise<string>;
}

/**
 * A shell script that starts a command and kills it when the standard input closes. `$1`: the signal to send; `$2`: the
 * command's directory; the other arguments: the command. The script writes the command's process ID to file
 * descriptor 3.
 */
const WATCHER = `
signal=$1; cd "$2" || exit 1; shift 2
"$@" </dev/null 3>&- &
server=$!
echo "$server" >&3
exec 3>&-
read -r _
kill -CONT "$server" 2>/dev/null
kill "-$signal" "$server" 2>/dev/null
wait "$server"
`;

export function createProcess(options: ProcessOptions): Process {
  const { name, command, log, directory = "/", lastSignal = "KILL" } = options;
  let current: { watcher: ChildProcess; pid: number } | undefined;
  const pid = (): number | undefined => (current !== undefined && isRunning(current.pid) ? current.pid : undefined);
  /** Closes the pipe to the shell that watches the process, and waits for the shell to end. */
  const dismiss = async (): Promise<number | null> => {
    if (current === undefined) return null;
    const { watcher } = current;
    current = undefined;
    if (watcher.exitCode === null && watcher.signalCode === null) {
      watcher.ref();
      const ended = once(watcher, "exit");
      watcher.stdin?.end();
      await ended;
    }
    // If a signal ended the process, the shell reports 128 plus the signal's number.
    return watcher.exitCode === null || watcher.exitCode > 128 ? null : watcher.exitCode;
  };
  const process_: Process = {
    name,
    pid,
    running: () => pid() !== undefined,
    async start() {
      if (process_.running()) throw new Error(`${name} is running already`);
      await dismiss();
      const file = await open(log, "a", 0o600);
      const watcher = spawn("/bin/sh", ["-c", WATCHER, name, lastSignal, directory, ...command], {
        ...(options.user === undefined ? {} : { uid: options.user.uid, gid: options.user.gid }),
        cwd: "/",
        env: options.environment ?? process.env,
        detached: true,
        stdio: ["pipe", file.fd, file.fd, "pipe"],
      });
      await file.close();
      // The process may end before the test closes its input, which is not an error.
      watcher.stdin?.on("error", () => {});
      const [line] = await once(watcher.stdio[3] as NodeJS.ReadableStream, "data");
      current = { watcher, pid: Number.parseInt(String(line), 10) };
      // Lets the test process exit even if a failed test did not stop the started process, which then ends too.
      for (const held of [watcher, watcher.stdin, watcher.stdio[3]] as { unref?: () => void }[]) held.unref?.();
      await eventually(`${name} is ready`, async () => {
        if (!process_.running()) throw new Error(`${name} ended at its start: ${tail(await process_.log())}`);
        return (await options.ready?.()) ?? true;
      });
    },
    async kill() {
      const root = pid();
      const killed = root === undefined ? [] : killTree(root);
      await dismiss();
      // A child may survive its parent by a moment, and PostgreSQL does not start while a child uses the old server's
      // shared memory.
      await eventually(`what ${name} started has ended`, async () => !killed.some(isRunning));
    },
    async end(signal = "SIGTERM", withinMs = HANG_LIMIT_MS) {
      const root = pid();
      if (root !== undefined) {
        process.kill(root, signal);
        try {
          await waitUntil(`${name} has ended`, withinMs, async () => !process_.running());
        } catch {
          killTree(root);
        }
      }
      return await dismiss();
    },
    stop() {
      const root = pid();
      if (root !== undefined) freezeTree(root);
    },
    cont() {
      const root = pid();
      if (root !== undefined) for (const each of [...descendants(root), root]) signalIfThere(each, "SIGCONT");
    },
    log: () => readFile(log, "utf8"),
  };
  return process_;
}

const hasProc = existsSync("/proc/self/stat");

/** Returns whether the process runs; a zombie does not count. */
function isRunning(pid: number): boolean {
  if (!hasProc) return /^[^ZX]/.test(spawnSync("ps", ["-o", "stat=", "-p", `${pid}`], { encoding: "utf8" }).stdout);
  const stat = statOf(pid);
  return stat !== undefined && stat.state !== "Z" && stat.state !== "X";
}

/**
 * Freezes a process and all its children, parents first, so that no process can start another meanwhile. Returns all
 * process IDs.
 */
function freezeTree(root: number): number[] {
  const frozen = new Set<number>();
  for (let fresh = [root]; fresh.length > 0; fresh = descendants(root).filter((pid) => !frozen.has(pid))) {
    for (const pid of fresh) {
      signalIfThere(pid, "SIGSTOP");
      frozen.add(pid);
    }
  }
  return [...frozen];
}

/** Kills a process and all its children with SIGKILL. Returns the IDs of all. */
export function killTree(root: number): number[] {
  // Kills children first: their parents are frozen, so they cannot react.
  const pids = freezeTree(root).reverse();
  for (const pid of pids) signalIfThere(pid, "SIGKILL");
  return pids;
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function statOf(pid: number): { parent: number; state: string } | undefined {
  try {
    // The file contains "12 (a name) S 1 …", and the name may contain any characters, also parentheses.
    const [state = "", parent = ""] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return { state, parent: Number(parent) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

function descendants(root: number): number[] {
  if (!hasProc) return [];
  const children = new Map<number, number[]>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = statOf(Number(entry))?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  return below(root, children);
}

function below(pid: number, children: Map<number, number[]>): number[] {
  return (children.get(pid) ?? []).flatMap((child) => [child, ...below(child, children)]);
}

/** Waits for a limited time and then throws, for callers that react to it. Tests use `eventually` instead. */
export async function waitUntil(what: string, withinMs: number, check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * The range of ports for `freePort`: below the ports that operating systems assign by themselves, so that nothing else
 * uses them.
 */
const PORTS = { first: 20_000, count: 10_000 };
/** The offset at which this process begins its search, so that concurrent test processes find different ports. */
const FIRST = (process.pid * 97) % PORTS.count;

/**
 * Reserves a loopback port for a process whose settings need one. The port stays reserved until this process ends: a
 * UDP socket on the same number, which nothing else uses, keeps other test processes from taking it.
 */
export async function findFreePort(first = FIRST): Promise<number> {
  for (let tried = 0; tried < PORTS.count; tried++) {
    const port = PORTS.first + ((first + tried) % PORTS.count);
    if ((await claim(port)) && (await nobodyListensOn(port))) return port;
  }
  throw new Error(`no port from ${PORTS.first} to ${PORTS.first + PORTS.count - 1} is free`);
}

async function claim(port: number): Promise<boolean> {
  const socket = createSocket("udp4");
  try {
    socket.bind({ port, address: "127.0.0.1", exclusive: true });
    await once(socket, "listening");
  } catch (error) {
    socket.close();
    if (isTaken(error)) return false;
    throw error;
  }
  socket.unref();
  return true;
}

async function nobodyListensOn(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
}

const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "EADDRINUSE";

const tail = (text: string): string => text.trimEnd().split("\n").slice(-15).join("\n");

/** Returns the environment without any of the test's own settings. */
export function makeMinimalEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return Object.fromEntries(
    Object.entries({ PATH, HOME, TMPDIR, NODE_COMPILE_CACHE }).filter(([, value]) => value !== undefined),
  );
}
