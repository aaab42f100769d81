/**
 * The gateway's ports: interfaces to the outside world. `build.ts` creates them from the configuration; the HTTP tests,
 * the stage and the simulator bring their own. No other code depends on the implementation behind a port.
 */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import type { MailSender } from "../accounts/mail-sender.ts";
import type { ReloadableCertificate } from "../base/certificate.ts";
import type { Clock } from "../base/clock.ts";
import type { Dependency } from "../base/dependency.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { OpenFiles } from "../base/open-file-limit.ts";
import type { Random } from "../base/random.ts";
import type { Tracing } from "../base/tracing.ts";
import type { Broadcast } from "../db/broadcast.ts";
import type { ConnectionLimit } from "../db/connection-limits.ts";
import type { DatabaseClockState } from "../db/database-clock.ts";
import type { SharedSettings } from "../db/deployment/watch-settings.ts";
import type { DatabaseLineage } from "../db/lineage/database-lineage.ts";
import type { SchemaMonitor } from "../db/schema-monitor.ts";
import type { LargeBodyParsing } from "../http/http-call.ts";
import type { Health } from "../http/server.ts";
import type { RequestPathDependencies } from "../inference/request-path-dependencies.ts";
import type { Disk } from "../ledger/disk-interface.ts";
import type { Limits, UnavailableCause } from "../limits/limits.ts";
import type { PaymentProvider } from "../payments/payment-provider.ts";
import type { DispatchPlane } from "../plane/plane.ts";

export interface ExternalInterfaces {
  clock: Clock;
  random: Random;
  newId: NewId;
  gatewayId: string;
  log: Log;
  tracing: Tracing;
  store: DatabaseAccess;
  /** Compares the settings that all gateways share with the recorded ones. Undefined for a single gateway. */
  shared?: Pick<SharedSettings, "differences">;
  models: ModelsAndTokenizers;
  /** Undefined: the gateway has no plane, and serves only the console and the ledger. */
  plane: DispatchPlane | undefined;
  /**
   * The deployment's ID. Resolves once the plane is known to belong to this deployment; no node gets messages before.
   */
  deployment: Promise<string>;
  limits: (facts: LimitsFacts) => Promise<Limits>;
  spool: SpoolPlace;
  /** Undefined: the gateway sends no emails. */
  mail: MailSender | undefined;
  /** Undefined: credit cannot be bought. */
  payments: PaymentProvider | undefined;
  /** The process's file descriptors. Undefined: not counted. */
  files?: OpenFiles | undefined;
  /** Undefined: the gateway does not listen. Requests arrive only through `serve`, and there is no console. */
  listener: Listener | undefined;
  /** Closes all ports. Called once, after everything that uses them was closed. */
  close: () => Promise<void>;
}

export interface DatabaseAccess {
  pool: pg.Pool;
  /** A connection pool used only by the ledger. */
  ledgerPool: pg.Pool;
  /** The ledger's pool for accounts that another session has locked. Undefined: `ledgerPool` serves them too. */
  ledgerApartPool?: pg.Pool;
  /**
   * The maximum numbers of open and of idle connections in `pool`. `total`: the maximum number of this process's
   * connections, including those for other purposes.
   */
  connections: { max: number; kept: number; total: number };
  broadcast: Broadcast;
  /** The database's migrations. Parts that need a later migration wait for it. */
  schema: Pick<SchemaMonitor, "number" | "reached">;
  health: Dependency;
  /** The state of the database's clock, which `Ports.clock` follows. */
  clock: () => DatabaseClockState;
  /** The number of connections refused at the database's limit. Undefined: not counted. */
  connectionsRefused?: () => number;
  /** The limits on connections, and how many are in use. Undefined: not read. */
  connectionLimits?: () => readonly ConnectionLimit[];
  /** The database history that this gateway follows. Undefined: not checked. */
  lineage?: DatabaseLineage;
  /** Clears caches of database rows. */
  forget?: () => void;
  /** Calls `run` with each row that this gateway changed, after the commit and before the caller gets the result. */
  onChange?: (run: (change: string) => void) => void;
}

/** The catalog of models, and the tokenizers that count their tokens. */
export interface ModelsAndTokenizers {
  catalogue: RequestPathDependencies["catalogue"];
  meter: RequestPathDependencies["meter"];
  /** Parses large request bodies. */
  reader: RequestPathDependencies["reader"];
  parseForm: LargeBodyParsing["parseForm"];
}

interface LimitsFacts {
  /** The number of running gateways, including this one. */
  gateways: () => number;
  unavailable: (cause: UnavailableCause) => void;
}

/**
 * The place of the spool (settlements on disk), and the host and the process that own its files. By default: this
 * machine's disk and name, and this process.
 */
export interface SpoolPlace {
  directory: string;
  /** The parent of all workers' directories, if this is one of several workers. */
  root?: string | undefined;
  disk?: Disk;
  host?: string;
  pid?: number;
  isAlive?: (pid: number) => boolean;
}

export interface Listener {
  /** The TLS certificate. Undefined: plain HTTP. */
  certificate?: ReloadableCertificate | undefined;
  /** Makes this server listen, and resolves to its port. */
  open: (server: FastifyInstance, which: "public" | "internal") => Promise<number>;
  /**
   * An internal listener that was opened before the gateway. `tellOf` makes it report this gateway's health. The
   * gateway does not close it.
   */
  internal?: { port: number; tellOf: (health: Health) => void };
}
