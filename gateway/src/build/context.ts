/** The context for opening a port from the configuration, which also records how to close it. */

import { createHmac } from "node:crypto";
import type { Context } from "../assemble/context.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Replaceable } from "../base/replaceable.ts";
import type { Config } from "../config.ts";
import type { Health } from "../http/server.ts";
import type { Limits } from "../limits/limits.ts";
import type { Plane } from "../plane/plane.ts";
import type { ServerSecrets } from "../server-secrets.ts";

export interface BuildOptions {
  config: Config;
  log: Log;
  progress: (what: string) => void;
  /** The gateway cannot go on: its store was taken away. */
  onLost: (error: Error) => void;
  /** Whoever started it wants it to stop; then it waits for nothing any more. */
  stopped?: Promise<unknown>;
  /** A platform to try things on: email that cannot be sent is logged, links and all. */
  development?: boolean;
  /** Take any free port for health and metrics when the configured one is taken. */
  anyInternalPort?: boolean;
  /** One of several workers of a gateway: what its primary process has for it. */
  worker?: WorkerPlace;
  clock?: Clock;
  random?: Random;
}

interface WorkerPlace {
  /** The same of all workers. */
  gateway: string;
  /** Where the workers' spools are. */
  spoolRoot: string;
  hasUpkeep: boolean;
  /** The primary listens there, and tells of this worker. */
  internalPort: number;
  tellOf: (health: Health) => void;
  /** Undefined: NATS servers. */
  plane?: Plane;
  /** Undefined: a Valkey server. */
  limits?: Limits;
}

export type BuildContext = Omit<BuildOptions, "clock" | "random"> & Context;

/**
 * Drawn from the pepper: gateways that share keys share these too, and there are fewer secrets to keep. While the pepper is being
 * replaced, so are they.
 */
export function derived({ pepper, pepperOld, pepperNext }: ServerSecrets, purpose: string): Replaceable {
  const from = (secret: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");
  return {
    current: from(pepper),
    ...(pepperOld !== undefined && { old: from(pepperOld) }),
    ...(pepperNext !== undefined && { next: from(pepperNext) }),
  };
}

/** What signs in people's sessions: a setting of its own, or drawn from the pepper. */
export function sessionSecrets(config: Config, secrets: ServerSecrets): Replaceable {
  const drawn = derived(secrets, "console sessions");
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
