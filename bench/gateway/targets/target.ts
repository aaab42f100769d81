/** A target of the bench: one of the compared gateways in front of the fake engine, with its processes. */
import { connect } from "node:net";
import type { BenchProcess, ProcessorAssignment } from "../bench-process.ts";
import { FAKE_MODEL, type FakeEngine } from "../fake-engine.ts";
import type { TargetAddress } from "../load.ts";
import type { WatchedProcess } from "../process-resource-usage.ts";

/**
 * The processes that can make up a target. `agent` is Tollgate's process on a host's machine; other gateways have none,
 * and few have a database.
 */
export type ProcessRole = "gateway" | "postgres" | "agent";

export interface Target {
  name: string;
  /** The version of a third-party program. */
  version?: string;
  address: TargetAddress;
  parts: Partial<Record<ProcessRole, WatchedProcess>>;
  /** The inspector ports of the Node processes, if the run makes profiles. */
  inspectors: Partial<Record<ProcessRole, number>>;
  /**
   * The target has its own engine, whose streams differ from the fake engine's: only unstreamed answers are measured.
   */
  wholeAnswersOnly?: boolean;
  stop(): Promise<void>;
}

export interface TargetOptions {
  engine: FakeEngine;
  processors: ProcessorAssignment;
  outDir: string;
  profile: boolean;
  /** Additional Node flags and environment settings for Tollgate's own processes. */
  preload?: (role: ProcessRole) => { flags: string[]; env: Record<string, string> };
}

export type StartTarget = (surroundings: TargetOptions) => Promise<Target>;

/** Thrown if a target cannot run on this machine; the bench continues with the others. */
export class TargetUnavailable extends Error {
  override name = "Unavailable";
}

/** Creates a target that relays the engine's own API. */
export function createRelayTarget(
  name: string,
  child: BenchProcess,
  options: { port: number; version?: string; headers?: Record<string, string>; withChildren?: boolean },
): Target {
  const { port, version, headers = {}, withChildren = false } = options;
  return {
    name,
    ...(version !== undefined && { version }),
    address: {
      port,
      models: { chat: FAKE_MODEL, embedding: FAKE_MODEL },
      headers: { authorization: "Bearer sk-bench", ...headers },
    },
    parts: { gateway: { pid: child.pid, withChildren } },
    inspectors: {},
    stop: () => child.stop(),
  };
}

/** Resolves once a connection to the port succeeds. */
export async function waitUntilListening(child: BenchProcess, port: number): Promise<void> {
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
