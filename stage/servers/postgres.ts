/**
 * PostgreSQL for a chaos run: a primary and a standby that streams from it, each on a small disk of its own, behind a front
 * whose address never changes.
 *
 * Replication is synchronous while the standby follows: a commit is answered when both have it on their disks, so a failover
 * loses nothing that was confirmed to a client. An operator made of code watches it, as the tools do that people run for this:
 * when the standby has not followed for two seconds the primary goes on alone, until it follows again; one that runs and cannot
 * follow any more is made anew. A failover waits until the standby is in step, and is refused where the primary died without
 * one. (One hole is PostgreSQL's own: a statement that is cancelled while its commit waits for the standby is answered as
 * committed. Gateways break the connection instead.)
 */

import { randomBytes } from "node:crypto";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { chooseRunAs } from "../../gateway/src/db/embedded/user.ts";
import { binariesOf } from "../../gateway/src/db/testing/versions.ts";
import { eventually } from "../wait.ts";
import { openFront } from "./front.ts";
import { newOperator } from "./postgres-operator.ts";
import { newPostgresServer, type PostgresServer } from "./postgres-server.ts";

type Which = "primary" | "standby";

interface PostgresOptions {
  /** 15 is Debian's, 18 comes from npm. */
  major?: number;
  /** Of each disk. */
  diskMb?: number;
}

export interface Postgres {
  readonly major: number;
  /** For gateways: through the front, as the owner of an empty database. It never changes. */
  readonly url: string;
  /** The front's. */
  readonly port: number;
  /** What cannot be done here, and why. */
  readonly leftOut: string[];
  /** Which server is the primary now. */
  primary(): string;
  /** In the gateways' database, on the primary, as its superuser and past the front. */
  query<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>;
  running(which?: Which): boolean;
  /** `kill -9` of the server with all its processes. */
  kill(which?: Which): Promise<void>;
  /** Starts what was killed, and waits until it answers. */
  start(which?: Which): Promise<void>;
  /** An orderly end and a new start. */
  restart(which?: Which): Promise<void>;
  /** SIGSTOP and SIGCONT of all its processes. */
  stop(which?: Which): void;
  cont(which?: Which): void;
  /** Resolves when a failover would lose nothing. */
  inStep(): Promise<void>;
  /**
   * Kills the primary, makes the standby the primary and leads the front there. What was the primary is made anew as the
   * standby, which goes on after this resolves; `inStep` tells when it is done.
   */
  failover(): Promise<void>;
  /**
   * The standby, which was killed, is started without its primary and takes over as it is: what was committed since is lost. The old
   * primary stays as it died, and no one looks after the pair any more.
   */
  failoverLosing(): Promise<void>;
  /** Leads the front to the primary or to the one that was replaced, which is started: no one fenced it off. */
  leadTo(which: Which): Promise<void>;
  /** Until the last byte of the disk is taken. A server may end of it; `freeDisk` starts it again, as its keeper would. */
  fillDisk(which?: Which): Promise<void>;
  freeDisk(which?: Which): Promise<void>;
  /**
   * Every commit takes that much longer: up to 100 ms by waiting before the flush, more by waiting for the standby. A
   * failover leaves the slow disk behind.
   */
  slowDisk(ms: number): Promise<void>;
  fastDisk(): Promise<void>;
  /** The network between gateways and database: swallows everything, or refuses at once. */
  cutFront(how?: "black-hole" | "refusing"): Promise<void>;
  healFront(): Promise<void>;
  /** What the servers logged, by name. */
  logs(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

export const DATABASE = "tollgate";
const ROLE = "tollgate";
const COMMIT_DELAY_MS_MAX = 100;

/** A directory of its own for servers of one version. */
export async function openPlace({ major, diskMb }: Required<PostgresOptions>) {
  const runAs = await chooseRunAs();
  // Not the system's temporary directory: that may be too long for a socket's path, or closed to other users.
  const directory = await mkdtemp("/tmp/tollgate-chaos-pg-");
  if (runAs) await chown(directory, runAs.uid, runAs.gid);
  const binaries = await binariesOf(major, { runAs, place: directory });
  return {
    make: (name: string) => newPostgresServer({ name, directory, binaries, runAs, diskMb }),
    /** Ends the servers and removes everything. */
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

/** Starts a new cluster with an empty database; returns its owner's address at a port. */
export async function startEmpty(server: PostgresServer): Promise<(port: number) => string> {
  await server.create();
  await server.process.start();
  const password = randomBytes(16).toString("hex");
  await server.query(`create role ${ROLE} login password '${password}'`);
  await server.query(`create database ${DATABASE} owner ${ROLE}`);
  return (port) => `postgres://${ROLE}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

export async function startPostgres({ major = 18, diskMb = 512 }: PostgresOptions = {}): Promise<Postgres> {
  const { make, remove } = await openPlace({ major, diskMb });
  const servers = { primary: await make("postgres-a"), standby: await make("postgres-b") };
  const { primary } = servers;
  const urlAt = await startEmpty(primary);
  const front = await openFront(primary);
  const operator = newOperator(servers);
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
      // Counted from the moment of the commit, so that it is not added to the other.
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
