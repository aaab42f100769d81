/**
 * The context of the functions that connect the gateway to its dependencies (database, plane, limits, payments), as
 * the configuration says. It also collects the functions that close these connections.
 */

import { createHmac } from "node:crypto";
import type { AssemblyContext } from "../assemble/assembly-context.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { RotatingSecret } from "../base/rotating-secret.ts";
import type { Config } from "../config.ts";
import type { Health } from "../http/server.ts";
import type { Limits } from "../limits/limits.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import type { ServerSecrets } from "../server-secrets.ts";

export interface GatewayBuildOptions {
  config: Config;
  log: Log;
  progress: (what: string) => void;
  /** Called when the gateway cannot continue, because another platform took over its database. */
  onLost: (error: Error) => void;
  /** Resolves when the process gets a stop signal, which ends all waits. */
  stopped?: Promise<unknown>;
  /** Whether this is a development platform: emails that cannot be sent are logged with their links. */
  development?: boolean;
  /** Whether to use any free internal port if the configured one is in use. */
  anyInternalPort?: boolean;
  /** What the primary process provides, if this process is a worker. */
  worker?: WorkerPlace;
  clock?: Clock;
}

interface WorkerPlace {
  /** The gateway's ID, which all its workers share. */
  gateway: string;
  /** The directory that contains the workers' spools. */
  spoolRoot: string;
  hasUpkeep: boolean;
  /** The internal port. The primary listens on it and reports this worker's health. */
  internalPort: number;
  tellOf: (health: Health) => void;
  /** Undefined if the plane is on NATS servers. */
  plane?: DispatchPlane;
  /** Undefined if limits are counted on a Valkey server. */
  limits?: Limits;
}

export type BuildContext = Omit<GatewayBuildOptions, "clock"> & AssemblyContext;

/**
 * Secrets derived from the pepper, so that gateways with the same pepper share them and operators need not store them.
 * They change when the pepper is replaced.
 */
export function deriveSecrets({ pepper, pepperOld, pepperNext }: ServerSecrets, purpose: string): RotatingSecret {
  const from = (secret: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");
  return {
    current: from(pepper),
    ...(pepperOld !== undefined && { old: from(pepperOld) }),
    ...(pepperNext !== undefined && { next: from(pepperNext) }),
  };
}

/** The secret of console sessions: its own setting if set, otherwise derived from the pepper. */
export function deriveSessionSecrets(config: Config, secrets: ServerSecrets): RotatingSecret {
  const drawn = deriveSecrets(secrets, "console sessions");
  const { sessionSecret, sessionSecretOld, sessionSecretNext } = config;
  if (sessionSecret === undefined) {
    return { ...drawn, ...(sessionSecretNext !== undefined && { next: sessionSecretNext }) };
  }
  const old = sessionSecretOld === "derived" ? drawn.current : sessionSecretOld;
  return {
    current: sessionSecret,
    ...(old !== undefined && { old }),
    ...(sessionSecretNext !== undefined && { next: sessionSecretNext }),
  };
}
