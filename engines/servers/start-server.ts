/**
 * Runs an engine's server on loopback in a process session of its own, so that all of its processes can be stopped and
 * measured.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { eventually, hangSignal } from "@tollgate/stage/wait.ts";
import { endSession } from "./process-session.ts";

interface Command {
  file: string;
  args: string[];
  env?: Record<string, string>;
}

export interface Server {
  url: string;
  /** The ID of the process session to which all of the engine's processes belong. */
  session: number;
  /** Kills all processes of the session with SIGKILL. */
  kill(): Promise<void>;
}

/** Starts the server. `isReady` returns whether the engine answers yet. */
export async function startServer(
  command: Command,
  { url, log, isReady }: { url: string; log: string; isReady: (url: string) => Promise<boolean> },
): Promise<Server> {
  const file = openSync(log, "a");
  const child = spawn(command.file, command.args, {
    detached: true,
    stdio: ["ignore", file, file],
    env: { ...process.env, ...command.env },
  });
  closeSync(file);
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(`ended with ${code ?? signal}`));
  });
  const session = child.pid;
  if (session === undefined) throw new Error(`${command.file} cannot be started: ${await ended}`);
  const kill = async (): Promise<void> => {
    endSession(session);
    await ended;
  };
  try {
    await untilReady(child, () => isReady(url).catch(() => false));
  } catch (error) {
    await kill();
    const said = (await readFile(log, "utf8")).trimEnd().split("\n");
    throw new Error(`${(error as Error).message}; its last words: ${said.at(-1)}`);
  }
  return { url, session, kill };
}

async function untilReady(child: ChildProcess, isReady: () => Promise<boolean>): Promise<void> {
  await eventually("the engine serves", async () => {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the engine ended with ${child.exitCode ?? child.signalCode}`);
    return await isReady();
  });
}

export async function isReachable(url: string): Promise<boolean> {
  return (await fetch(url, { signal: hangSignal() })).ok;
}

export async function askJson<T>(url: string, body?: object): Promise<T> {
  const init = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(url, { ...init, signal: hangSignal() });
  if (!response.ok) throw new Error(`the engine answered ${response.status}: ${(await response.text()).slice(0, 120)}`);
  return (await response.json()) as T;
}
