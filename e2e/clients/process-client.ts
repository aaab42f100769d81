/**
 * Runs clients in other languages as processes. An adapter in the client's language reads one line of JSON for each
 * call and answers with one line.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Client, ClientConnection, ShownError } from "./client-interface.ts";

interface Reply extends Partial<ShownError> {
  value?: unknown;
  pieces: string[];
}

class ClientError extends Error {
  readonly seen: ShownError;
  constructor(seen: ShownError) {
    super(seen.message);
    this.seen = seen;
  }
}

/** Starts the adapter. Its first line lists the operations that it supports. */
export async function startProcessClient(program: string, args: string[]): Promise<Client> {
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NO_PROXY: "127.0.0.1", PYTHONDONTWRITEBYTECODE: "1" },
  });
  // If the program is missing, its output closes too, and the first read reports the error.
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async <T>(): Promise<T> => {
    const { value: line, done } = await lines.next();
    if (done) throw new Error(`the adapter has stopped: ${args.join(" ")}`);
    return JSON.parse(line) as T;
  };
  const call = async (operation: string, at: ClientConnection, ask?: unknown, onText?: (text: string) => void) => {
    child.stdin.write(`${JSON.stringify({ operation, at, ask })}\n`);
    const reply = await read<Reply>();
    for (const piece of reply.pieces) onText?.(piece);
    const { raised, message = "" } = reply;
    if (raised !== undefined) throw new ClientError({ ...reply, raised, message });
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
  const { operations } = await read<{ operations: string[] }>();
  return {
    chat: async (at, ask) => (await call("chat", at, ask)) as Awaited<ReturnType<Client["chat"]>>,
    stream: async (at, ask, onText) => void (await call("stream", at, ask, onText)),
    ...Object.fromEntries(Object.entries(all).filter(([name]) => operations.includes(name))),
    seen: (error) => {
      if (error instanceof ClientError) return error.seen;
      throw error;
    },
    close: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
