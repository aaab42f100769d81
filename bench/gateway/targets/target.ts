/** A target of the bench: a gateway in front of the fake engine, and its processes. */
import { connect } from "node:net";
import { type Engine, MODEL } from "../engine.ts";
import type { Address } from "../load.ts";
import type { Child, Processors } from "../processes.ts";
import type { Watched } from "../usage.ts";

/** `agent` is the host's part of our own gateway; the others have none, and few a database. */
export type Role = "gateway" | "postgres" | "agent";

export interface Target {
  name: string;
  /** Where it is a program of others. */
  version?: string;
  address: Address;
  parts: Partial<Record<Role, Watched>>;
  /** Of the parts that run on Node, when the run makes profiles. */
  inspectors: Partial<Record<Role, number>>;
  /** It has an engine of its own, whose streams are not the fake engine's: only what is not streamed is measured. */
  wholeAnswersOnly?: boolean;
  stop(): Promise<void>;
}

export interface Surroundings {
  engine: Engine;
  processors: Processors;
  outDir: string;
  profile: boolean;
  /** What our own processes are started with besides: flags of Node and settings of their environment. */
  preload?: (role: Role) => { flags: string[]; env: Record<string, string> };
}

export type StartTarget = (surroundings: Surroundings) => Promise<Target>;

/** It cannot run on this machine; the others go on without it. */
export class Unavailable extends Error {
  override name = "Unavailable";
}

/** A target that hands the engine's own API on. */
export function passThrough(
  name: string,
  child: Child,
  options: { port: number; version?: string; headers?: Record<string, string>; withChildren?: boolean },
): Target {
  const { port, version, headers = {}, withChildren = false } = options;
  return {
    name,
    ...(version !== undefined && { version }),
    address: {
      port,
      models: { chat: MODEL, embedding: MODEL },
      headers: { authorization: "Bearer sk-bench", ...headers },
    },
    parts: { gateway: { pid: child.pid, withChildren } },
    inspectors: {},
    stop: () => child.stop(),
  };
}

/** Resolves once someone listens there. */
export async function listening(child: Child, port: number): Promise<void> {
  await child.eventually(
    () =>
      new Promise<true | undefined>((resolve) => {
        const socket = connect(port, "127.0.0.1");
        socket.once("connect", () => {
          socket.destroy();
          resolve(true);
        });
        socket.once("error", () => resolve(undefined));
      }),
  );
}
