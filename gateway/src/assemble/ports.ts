/**
 * What the outside world provides to a gateway. `build.ts` makes these from the configuration; the HTTP tests, the stage and the
 * simulator bring their own. Nothing below a port knows which adapter is behind it.
 */
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import type { Mail } from "../accounts/mail.ts";
import type { LiveCertificate } from "../base/certificate.ts";
import type { Clock } from "../base/clock.ts";
import type { Dependency } from "../base/dependency.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { OpenFiles } from "../base/open-files.ts";
import type { Random } from "../base/random.ts";
import type { Tracing } from "../base/tracing.ts";
import type { Broadcast } from "../db/broadcast.ts";
import type { ClockState } from "../db/database-clock.ts";
import type { SharedSettings } from "../db/deployment/watch.ts";
import type { Lineage } from "../db/lineage/lineage.ts";
import type { Schema } from "../db/schema.ts";
import type { Bodies } from "../http/call.ts";
import type { Health } from "../http/server.ts";
import type { Gateway } from "../inference/gateway.ts";
import type { Disk } from "../ledger/disk.ts";
import type { Limits, UnavailableCause } from "../limits/limits.ts";
import type { PaymentProvider } from "../payments/provider.ts";
import type { Plane } from "../plane/plane.ts";

export interface Ports {
  clock: Clock;
  random: Random;
  newId: NewId;
  gatewayId: string;
  log: Log;
  tracing: Tracing;
  store: Store;
  /** The settings that all gateways share, compared with the recorded ones. Undefined: a single gateway. */
  shared?: Pick<SharedSettings, "differences">;
  models: Models;
  /** Undefined: no plane; the gateway serves the console and the ledger. */
  plane: Plane | undefined;
  /** The deployment's id, resolved once the plane is known to belong to it. Nodes get no messages before. */
  deployment: Promise<string>;
  limits: (facts: LimitsFacts) => Promise<Limits>;
  spool: SpoolPlace;
  /** Undefined: no emails are sent. */
  mail: Mail | undefined;
  /** Undefined: credits cannot be bought. */
  payments: PaymentProvider | undefined;
  /** The process's file descriptors. Undefined: not counted. */
  files?: OpenFiles | undefined;
  /** Undefined: no listeners; requests arrive only through `serve`, and there is no console. */
  listener: Listener | undefined;
  /** Closes all ports. Called once, after everything that uses them. */
  close: () => Promise<void>;
}

export interface Store {
  pool: pg.Pool;
  /** Only for the ledger's functions. */
  ledgerPool: pg.Pool;
  /** The ledger's pool for accounts that another session has locked. Undefined: `ledgerPool` is used. */
  ledgerApartPool?: pg.Pool;
  /** The maximum of open connections in `pool`, and of idle ones. */
  connections: { max: number; kept: number };
  broadcast: Broadcast;
  /** The migrations that the database has. Parts that need a later one wait for it. */
  schema: Pick<Schema, "number" | "reached">;
  health: Dependency;
  /** The state of the database's clock, which \`Ports.clock\` follows. */
  clock: () => ClockState;
  /** The connections refused at the limit. Undefined: not counted. */
  connectionsRefused?: () => number;
  /** The database history that this gateway follows. Undefined: not checked. */
  lineage?: Lineage;
  /** Clears the caches of database rows. */
  forget?: () => void;
  /** Calls `run` with each row that a connection of this gateway changed, once that is committed and before its caller knows. */
  onChange?: (run: (change: string) => void) => void;
}

/** The catalogue and the tokenizers that count for it. */
export interface Models {
  catalogue: Gateway["catalogue"];
  meter: Gateway["meter"];
  /** Reads large bodies. */
  reader: Gateway["reader"];
  parseForm: Bodies["parseForm"];
}

interface LimitsFacts {
  /** The number of running gateways, this one included. */
  gateways: () => number;
  unavailable: (cause: UnavailableCause) => void;
}

/** The directory of the spool. Defaults: this machine's disk, name and processes. */
export interface SpoolPlace {
  directory: string;
  /** The parent of all workers' directories, when this is one of several workers. */
  root?: string | undefined;
  disk?: Disk;
  host?: string;
  pid?: number;
  isAlive?: (pid: number) => boolean;
}

export interface Listener {
  /** Undefined: plain HTTP. */
  certificate?: LiveCertificate | undefined;
  /** Starts to listen for this server, and resolves with the port. */
  open: (server: FastifyInstance, which: "public" | "internal") => Promise<number>;
  /** An internal listener that is already open. It reports this gateway's health from then on; the gateway does not close it. */
  internal?: { port: number; tellOf: (health: Health) => void };
}
