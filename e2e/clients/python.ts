/** The Python client as the others are: adapters/python.py does the calls, one line of JSON each way. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Ask, Client, Connection, Seen } from "./client.ts";

const SCRIPT = fileURLToPath(new URL("adapters/python.py", import.meta.url));

interface Reply extends Partial<Seen> {
  value?: unknown;
  pieces: string[];
}

class PythonError extends Error {
  readonly seen: Seen;
  constructor(seen: Seen) {
    super(seen.message);
    this.seen = seen;
  }
}

export function pythonClient(interpreter: string): Client {
  const child = spawn(interpreter, [SCRIPT], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NO_PROXY: "127.0.0.1" },
  });
  const replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const call = async (operation: string, at: Connection, ask?: unknown, onText?: (text: string) => void) => {
    child.stdin.write(`${JSON.stringify({ operation, at, ask })}\n`);
    const { value: line, done } = await replies.next();
    if (done) throw new Error("the Python client has stopped");
    const reply = JSON.parse(line) as Reply;
    for (const piece of reply.pieces) onText?.(piece);
    const { raised, message = "" } = reply;
    if (raised !== undefined) throw new PythonError({ ...reply, raised, message });
    return reply.value;
  };
  return {
    chat: async (at, ask) => (await call("chat", at, ask)) as Awaited<ReturnType<Client["chat"]>>,
    stream: async (at, ask, onText) => void (await call("stream", at, ask, onText)),
    responses: (at, ask) => call("responses", at, ask),
    complete: async (at: Connection, ask: Ask) => (await call("complete", at, ask)) as string,
    embed: async (at, ask) => (await call("embed", at, ask)) as number[][],
    models: async (at: Connection) => (await call("models", at)) as string[],
    seen: (error) => {
      if (error instanceof PythonError) return error.seen;
      throw error;
    },
    close: () => void child.stdin.end(),
  };
}
