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
  /** The settings that all gateways share, compared with the deployment's. Undefined: this gateway is the only one. */
  shared?: Pick<SharedSettings, "differences">;
  models: Models;
  /** Undefined: no node ever connects; the gateway serves the console and the ledger. */
  plane: Plane | undefined;
  /** The deployment's id, once it is certain that the plane belongs to it. Nodes are told nothing before. */
  deployment: Promise<string>;
  limits: (facts: LimitsFacts) => Promise<Limits>;
  spool: SpoolPlace;
  /** Undefined: no email is sent. */
  mail: Mail | undefined;
  /** Undefined: credits cannot be bought. */
  payments: PaymentProvider | undefined;
  /** Of this process. Undefined: no one counts them. */
  files?: OpenFiles | undefined;
  /** Undefined: no one connects. Requests reach the gateway by `serve` alone, and there is no console. */
  listener: Listener | undefined;
  /** Closes all of these. Called once, after everything that uses them is closed. */
  close: () => Promise<void>;
}

export interface Store {
  pool: pg.Pool;
  /** For the ledger's functions alone. */
  ledgerPool: pg.Pool;
  /** The same, for operations of accounts that another session has locked. Undefined: they share `ledgerPool`. */
  ledgerApartPool?: pg.Pool;
  /** How many connections `pool` opens at most, and how many stay open while idle. */
  connections: { max: number; kept: number };
  broadcast: Broadcast;
  /** Which migrations the database has had. Parts that need a later one wait for it. */
  schema: Pick<Schema, "number" | "reached">;
  health: Dependency;
  /** How well the database's clock is known, which \`Ports.clock\` follows. */
  clock: () => ClockState;
  /** Connections that were refused because there were too many. Undefined: no one counts them. */
  connectionsRefused?: () => number;
  /** The history that this gateway follows. Undefined: any database will do. */
  lineage?: Lineage;
  /** Drops what is cached of the database's rows. */
  forget?: () => void;
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
  /** How many gateways are alive now, this one included. */
  gateways: () => number;
  unavailable: (cause: UnavailableCause) => void;
}

/** Where settlements wait on disk. Defaults: this machine's disk, name and processes. */
export interface SpoolPlace {
  directory: string;
  /** Where the directories of all workers are, if this is one of them. */
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
  /** The internal listener, where it is open already. It tells of this gateway from then on; closing it is not the gateway's. */
  internal?: { port: number; tellOf: (health: Health) => void };
}
