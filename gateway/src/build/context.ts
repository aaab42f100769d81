/** The context for opening a port from the configuration, which also records how to close it. */

import { createHmac } from "node:crypto";
import type { Context } from "../assemble/context.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { RotatingSecret } from "../base/rotating-secret.ts";
import type { Config } from "../config.ts";
import type { Health } from "../http/server.ts";
import type { Limits } from "../limits/limits.ts";
import type { Plane } from "../plane/plane.ts";
import type { ServerSecrets } from "../server-secrets.ts";

export interface BuildOptions {
  config: Config;
  log: Log;
  progress: (what: string) => void;
  /** The gateway cannot continue because its database was taken over. */
  onLost: (error: Error) => void;
  /** The process was asked to stop, so waits end. */
  stopped?: Promise<unknown>;
  /** A development platform: emails that cannot be sent are logged with their links. */
  development?: boolean;
  /** Use any free internal port if the configured one is in use. */
  anyInternalPort?: boolean;
  /** The place of a worker, given by its primary process. */
  worker?: WorkerPlace;
  clock?: Clock;
  random?: Random;
}

interface WorkerPlace {
  /** The same for all workers of a gateway. */
  gateway: string;
  /** The directory of the workers' spools. */
  spoolRoot: string;
  hasUpkeep: boolean;
  /** The primary listens there and reports this worker's health. */
  internalPort: number;
  tellOf: (health: Health) => void;
  /** Undefined: the plane is on NATS servers. */
  plane?: Plane;
  /** Undefined: limits are counted on a Valkey server. */
  limits?: Limits;
}

export type BuildContext = Omit<BuildOptions, "clock" | "random"> & Context;

/**
 * Derived from the pepper, so that gateways with the same keys share these secrets and operators have fewer to keep. They change when the
 * pepper is replaced.
 */
export function derivedSecrets({ pepper, pepperOld, pepperNext }: ServerSecrets, purpose: string): RotatingSecret {
  const from = (secret: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");
  return {
    current: from(pepper),
    ...(pepperOld !== undefined && { old: from(pepperOld) }),
    ...(pepperNext !== undefined && { next: from(pepperNext) }),
  };
}

/** The secret of console sessions: its own setting, or derived from the pepper. */
export function sessionSecrets(config: Config, secrets: ServerSecrets): RotatingSecret {
  const drawn = derivedSecrets(secrets, "console sessions");
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
