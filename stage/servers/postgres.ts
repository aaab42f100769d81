/**
 * PostgreSQL for a chaos run: a primary and a standby that streams from it, each on its own small disk, behind a proxy
 * whose address never changes. Replication is synchronous while the standby follows: a commit is confirmed when both
 * have it on disk, so a failover loses nothing that was confirmed to a client.
 *
 * The operator (postgres-replication-manager.ts) watches the pair like a cluster manager: when the standby has not
 * followed for two seconds the primary continues alone until it follows again; a standby that cannot follow any more is
 * recreated. A failover waits until the standby is in step, and is refused if the primary died without a standby in
 * step.
 *
 * (PostgreSQL itself has one gap: a statement that is cancelled while its commit waits for the standby is confirmed as
 * committed. Gateways break the connection instead.)
 */

import { randomBytes } from "node:crypto";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { choosePostgresUser } from "../../gateway/src/db/private-postgres/os-user.ts";
import { findPostgresBinaries } from "../../gateway/src/db/testing/postgres-versions.ts";
import { eventually } from "../wait.ts";
import { createReplicationManager } from "./postgres-replication-manager.ts";
import { createPostgresServer, type PostgresServer } from "./postgres-server.ts";
import { openSwitchableProxy } from "./switchable-proxy.ts";

type Which = "primary" | "standby";

interface PostgresOptions {
  /** The major version of PostgreSQL. Version 15 is Debian's, 18 comes from npm. */
  major?: number;
  /** The size of each disk, in MB. */
  diskMb?: number;
}

export interface Postgres {
  readonly major: number;
  /**
   * The database URL for gateways: through the proxy, with the owner of an empty database as its user. It never
   * changes.
   */
  readonly url: string;
  /** The proxy's port. */
  readonly port: number;
  /** Operations that are impossible on this machine, with the reasons. */
  readonly leftOut: string[];
  /** Returns the name of the server that is primary now. */
  primary(): string;
  /** Queries the gateways' database on the primary as superuser, without the proxy. */
  query<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>;
  running(which?: Which): boolean;
  /** Kills all processes of the server with SIGKILL. */
  kill(which?: Which): Promise<void>;
  /** Starts a killed server, and waits until it answers queries. */
  start(which?: Which): Promise<void>;
  /** Stops the server in the normal way and starts it again. */
  restart(which?: Which): Promise<void>;
  /** Freezes or continues all processes of the server with SIGSTOP or SIGCONT. */
  stop(which?: Which): void;
  cont(which?: Which): void;
  /** Resolves when a failover would lose nothing. */
  inStep(): Promise<void>;
  /**
   * Kills the primary, promotes the standby and switches the proxy to it. The former primary is recreated as a standby
   * in the background; `inStep` waits for that.
   */
  failover(): Promise<void>;
  /**
   * Starts the killed standby without its primary and promotes it as it is: commits that it had not received are lost.
   * The old primary stays dead, and the operator stops watching the pair.
   */
  failoverLosing(): Promise<void>;
  /**
   * Switches the proxy to this server: the primary, or the former primary. Starts the former primary if it does not
   * run: there is no fencing that would prevent this.
   */
  leadTo(which: Which): Promise<void>;
  /**
   * Fills the disk completely. The server may end because of that; `freeDisk` starts it again, as a supervisor would.
   */
  fillDisk(which?: Which): Promise<void>;
  freeDisk(which?: Which): Promise<void>;
  /**
   * Delays every commit by this time: up to 100 ms by a pause before the flush, more by a delay of the standby. After a
   * failover the disk is fast again.
   */
  slowDisk(ms: number): Promise<void>;
  fastDisk(): Promise<void>;
  /** Disturbs the network between gateways and database: the proxy holds back all data, or refuses connections. */
  cutFront(how?: "black-hole" | "refusing"): Promise<void>;
  healFront(): Promise<void>;
  /** Returns the servers' logs, by server name. */
  logs(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

export const DATABASE = "tollgate";
const ROLE = "tollgate";
const COMMIT_DELAY_MS_MAX = 100;

/** Creates a directory for servers of one version. */
export async function createServerDirectory({ major, diskMb }: Required<PostgresOptions>) {
  const runAs = await choosePostgresUser();
  // /tmp is used because the system's temporary directory may have a path too long for a socket, or be closed to other
  // users.
  const directory = await mkdtemp("/tmp/tollgate-chaos-pg-");
  if (runAs) await chown(directory, runAs.uid, runAs.gid);
  const binaries = await findPostgresBinaries(major, { runAs, place: directory });
  return {
    make: (name: string) => createPostgresServer({ name, directory, binaries, runAs, diskMb }),
    /** Stops the servers and removes the directory with their files. */
    async remove(...servers: PostgresServer[]): Promise<void> {
      for (const { process, disk } of servers) {
        process.cont();
        await process.end("SIGQUIT", 10_000);
        await disk.remove();
      }
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Starts a new cluster with an empty database; returns a function that returns the database owner's URL for a port. */
export async function startEmptyCluster(server: PostgresServer): Promise<(port: number) => string> {
  await server.create();
  await server.process.start();
  const password = randomBytes(16).toString("hex");
  await server.query(`create role ${ROLE} login password '${password}'`);
  await server.query(`create database ${DATABASE} owner ${ROLE}`);
  return (port) => `postgres://${ROLE}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

export async function startPostgres({ major = 18, diskMb = 512 }: PostgresOptions = {}): Promise<Postgres> {
  const { make, remove } = await createServerDirectory({ major, diskMb });
  const servers = { primary: await make("postgres-a"), standby: await make("postgres-b") };
  const { primary } = servers;
  const urlAt = await startEmptyCluster(primary);
  const front = await openSwitchableProxy(primary);
  const operator = createReplicationManager(servers);
  operator.watch();
  await operator.inStep();

  const of = (which: Which = "primary"): PostgresServer => servers[which];
  return {
    major,
    url: urlAt(front.port),
    port: front.port,
    leftOut: primary.disk.endless === undefined ? [] : [`a full disk under PostgreSQL (${primary.disk.endless})`],
    primary: () => servers.primary.name,
    query: (sql, values) => servers.primary.query(sql, values, { database: DATABASE }),
    running: (which) => of(which).process.running(),
    async kill(which) {
      operator.expect(of(which), "down");
      await of(which).process.kill();
    },
    async start(which) {
      await of(which).process.start();
      operator.expect(of(which), "up");
    },
    async restart(which) {
      operator.expect(of(which), "down");
      await of(which).process.end("SIGINT");
      await of(which).process.start();
      operator.expect(of(which), "up");
    },
    stop(which) {
      operator.expect(of(which), "down");
      of(which).process.stop();
    },
    cont(which) {
      of(which).process.cont();
      operator.expect(of(which), "up");
    },
    inStep: () => operator.inStep(),
    async failover() {
      await operator.rest();
      try {
        if (!operator.expected(of("standby"))) throw new Error("the standby is down: there is nobody to take over");
        if (operator.expected(of("primary"))) await operator.inStep();
        if (!operator.safe())
          throw new Error("the primary died while the standby was not in step: commits would be lost");
        const { primary: old, standby: next } = servers;
        await old.process.kill();
        await promote(next);
        [servers.primary, servers.standby] = [next, old];
        operator.changed();
        front.leadTo(next.port);
      } finally {
        operator.watch();
      }
    },
    async failoverLosing() {
      await operator.rest();
      const { primary: old, standby: next } = servers;
      await old.process.kill();
      await next.process.start();
      await promote(next);
      [servers.primary, servers.standby] = [next, old];
      front.leadTo(next.port);
    },
    async leadTo(which) {
      if (!of(which).process.running()) await of(which).process.start();
      front.leadTo(of(which).port);
    },
    fillDisk: (which) => of(which).disk.fill(),
    async freeDisk(which) {
      await of(which).disk.free();
      if (!of(which).process.running()) await of(which).process.start();
      operator.expect(of(which), "up");
    },
    async slowDisk(ms) {
      const byStandby = ms > COMMIT_DELAY_MS_MAX;
      await servers.primary.set({
        commit_delay: String(Math.min(ms, COMMIT_DELAY_MS_MAX) * 1000),
        commit_siblings: "0",
        synchronous_commit: byStandby ? "remote_apply" : "on",
      });
      // The standby's delay counts from the moment of the commit, so it is not added to the delay before the flush.
      if (byStandby) await servers.standby.set({ recovery_min_apply_delay: `${ms}ms` });
    },
    async fastDisk() {
      if (operator.expected(servers.standby)) await servers.standby.set({ recovery_min_apply_delay: "0" });
      await servers.primary.set({ commit_delay: "0", commit_siblings: undefined, synchronous_commit: "on" });
    },
    async cutFront(how = "black-hole") {
      if (how === "black-hole") front.swallow();
      else await front.refuse();
    },
    healFront: () => front.heal(),
    async logs() {
      const entries = Object.values(servers).map(async ({ name, process }) => [name, await process.log()] as const);
      return Object.fromEntries(await Promise.all(entries));
    },
    async close() {
      await operator.rest();
      await front.close();
      await remove(...Object.values(servers));
    },
  };
}

async function promote(next: PostgresServer): Promise<void> {
  const [row] = await next.query<{ done: boolean }>("select pg_promote(true, 60) as done", [], { withinMs: 90_000 });
  if (row?.done !== true) throw new Error(`${next.name} did not become the primary`);
  await eventually(`${next.name} takes writes`, async () => {
    const [state] = await next.query<{ standby: boolean }>("select pg_is_in_recovery() as standby");
    return state?.standby === false;
  });
}
