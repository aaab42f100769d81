/** Python clients as the others are: `adapters/with_X.py` does the calls, one line of JSON each way. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Client, Connection, Seen } from "./client.ts";

/** What the adapters serve; a script that has not all of them is told by its name. */
const OFFERS: Record<string, readonly (keyof Client)[]> = {
  with_openai: ["streamUsage", "cancel", "structured", "responses", "complete", "embed", "models"],
  with_langchain: ["streamUsage", "cancel", "structured", "responses", "complete", "embed"],
  with_llamaindex: ["streamUsage", "cancel", "structured", "complete", "embed"],
  with_litellm: ["streamUsage", "cancel", "structured", "complete", "embed"],
};

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

export function pythonClient(interpreter: string, adapter: keyof typeof OFFERS): Client {
  const child = spawn(interpreter, [fileURLToPath(new URL(`adapters/${adapter}.py`, import.meta.url))], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NO_PROXY: "127.0.0.1", PYTHONDONTWRITEBYTECODE: "1" },
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
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
  const all: Required<
    Pick<Client, "streamUsage" | "cancel" | "structured" | "responses" | "complete" | "embed" | "models">
  > = {
    streamUsage: async (at, ask) => (await call("streamUsage", at, ask)) as number,
    cancel: async (at, ask) => void (await call("cancel", at, ask)),
    structured: (at, ask, schema) => call("structured", at, { ...ask, schema }),
    responses: (at, ask) => call("responses", at, ask),
    complete: async (at, ask) => (await call("complete", at, ask)) as string,
    embed: async (at, ask) => (await call("embed", at, ask)) as number[][],
    models: async (at) => (await call("models", at)) as string[],
  };
  const offered = Object.entries(all).filter(([name]) => OFFERS[adapter]?.includes(name as keyof Client));
  return {
    chat: async (at, ask) => (await call("chat", at, ask)) as Awaited<ReturnType<Client["chat"]>>,
    stream: async (at, ask, onText) => void (await call("stream", at, ask, onText)),
    ...Object.fromEntries(offered),
    seen: (error) => {
      if (error instanceof PythonError) return error.seen;
      throw error;
    },
    close: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
