/** Starts a server program on loopback; stopping it returns its output. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";

interface Wanted {
  name: string;
  /** Returns the command line that starts the server on this port with this data folder. */
  command: (port: number, folder: string) => string[];
  env: (folder: string) => Record<string, string>;
  /** A path that answers 200 once the server is ready. */
  health: string;
}

export interface StartedServer {
  address: string;
  /** Stops the server, and waits until it has ended and its folder is removed. */
  close: () => Promise<void>;
}

export async function startServer({ name, command, env, health }: Wanted): Promise<StartedServer> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-client-"));
  const port = await findFreePort();
  const [program = "", ...args] = command(port, folder);
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, NO_PROXY: "127.0.0.1", ...env(folder) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = lastOf(child);
  const address = `http://127.0.0.1:${port}`;
  let over: string | undefined;
  const ended = new Promise<void>((resolve) => {
    const end = (why: string): void => {
      over = why;
      resolve();
    };
    child.once("error", ({ message }) => end(message));
    child.once("close", (code) => end(`it ended with ${code}`));
  });
  const close = async (): Promise<void> => {
    child.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const answers = async (): Promise<boolean> => {
    if (over !== undefined) throw new Error(`${name}: ${over}\n${output()}`);
    const response = await fetch(address + health).catch(() => undefined); // Fails until the server listens.
    return response?.ok ?? false;
  };
  try {
    await eventually(`${name} answers`, answers);
    return { address, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function lastOf(child: ChildProcess): () => string {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-10_000);
    });
  }
  return () => output;
}
