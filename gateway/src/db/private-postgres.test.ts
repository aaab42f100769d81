/**
 * The life of a private PostgreSQL server: created, stopped, adopted by the next start, refused to a second gateway.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { DataDirectoryInUse, PrivatePostgresError, readErrorCode } from "./private-postgres/errors.ts";
import { isPostmasterOf } from "./private-postgres/postmaster.ts";
import {
  createScratchDirectory,
  queryPostgres,
  runsAsRoot,
  startGatewayInOwnProcess,
} from "./private-postgres/testing.ts";

/** Asserts that a start was refused with an error of a single line. */
const oneLine = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PrivatePostgresError, String(error));
  assert.match(error.message, pattern);
  assert.doesNotMatch(error.message, /\n/);
  return true;
};

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    assert.equal(readErrorCode(error), "ESRCH");
    return false;
  }
}

/** Most tests share this data directory. Each begins without a running server and leaves usable data. */
const place = await createScratchDirectory({ after });
afterEach(() => place.stopAll());
const home = join(place.dataDir, "postgres");

test("the first start creates a durable, private PostgreSQL server, and the second start finds its data", async () => {
  const said: string[] = [];
  const first = await place.start({ progress: (what) => said.push(what) });
  assert.equal(first.adopted, false);
  assert.deepEqual(said, ["creating the database cluster", "starting PostgreSQL"]);
  const settings = await queryPostgres<{ name: string; setting: string }>(
    first.connection,
    `select name, setting from pg_settings where name in
       ('fsync', 'synchronous_commit', 'listen_addresses', 'data_checksums', 'server_encoding', 'TimeZone')`,
  );
  assert.deepEqual(Object.fromEntries(settings.map((row) => [row.name, row.setting])), {
    fsync: "on",
    synchronous_commit: "on",
    listen_addresses: "",
    data_checksums: "on",
    server_encoding: "UTF8",
    TimeZone: "UTC",
  });
  const [role] = await queryPostgres<{ rolsuper: boolean }>(
    first.connection,
    "select rolsuper from pg_roles where rolname = current_user",
  );
  assert.equal(role?.rolsuper, false);
  for (const path of [place.dataDir, place.cluster, first.connection.host]) {
    assert.equal((await stat(path)).mode & 0o006, 0, `${path} can be read by others`);
  }
  assert.equal((await stat(place.cluster)).mode & 0o777, 0o700);
  assert.equal((await stat(first.connection.host)).mode & 0o777, 0o700);
  await queryPostgres(first.connection, "create table kept (a int)");
  await queryPostgres(first.connection, "insert into kept values (42)");
  await first.stop();

  const second = await place.start();
  assert.equal(second.adopted, false);
  assert.deepEqual(await queryPostgres(second.connection, "select a from kept"), [{ a: 42 }]);
  await second.stop();
});

test("stopping the embedded server ends all its processes, and stopping it again is harmless", async () => {
  const postgres = await place.start();
  const idle = new pg.Client(postgres.connection);
  idle.on("error", () => undefined);
  await idle.connect();
  await Promise.all([postgres.stop(), postgres.stop()]);
  await postgres.stop();
  assert.equal(await isPostmasterOf(postgres.pid, place.cluster), false);
  // Waits, because a process keeps its ID until Node has collected its exit status.
  await eventually("the process ID is free", () => !hasProcess(postgres.pid));
  assert.deepEqual(await readdir(postgres.connection.host), []);
  await assert.rejects(access(join(place.cluster, "postmaster.pid")), { code: "ENOENT" });
});

test("the next start adopts the server that a killed gateway left running", async (t) => {
  const killed = startGatewayInOwnProcess(t, place);
  const { pid } = await killed.next("ready");
  await killed.kill();
  assert.equal(await isPostmasterOf(pid, place.cluster), true);

  const adopting = await place.start();
  assert.equal(adopting.adopted, true);
  assert.equal(adopting.pid, pid);
  await queryPostgres(adopting.connection, "create table works (a int)");
  await adopting.stop();
  assert.equal(await isPostmasterOf(pid, place.cluster), false);
});

test("a second gateway on the same data directory is refused, and the server keeps running", async (t) => {
  const holder = startGatewayInOwnProcess(t, place);
  const { pid } = await holder.next("ready");
  await assert.rejects(place.start(), (error) => {
    assert.ok(error instanceof DataDirectoryInUse);
    assert.equal(error.holderPid, holder.child.pid);
    return oneLine(new RegExp(`${place.dataDir} is in use by process ${holder.child.pid}: stop`))(error);
  });
  assert.equal(await isPostmasterOf(pid, place.cluster), true);
  await holder.stop();
  assert.equal(await isPostmasterOf(pid, place.cluster), false);
});

test("of two gateways that start at once on a new data directory, one serves", async (t) => {
  const fresh = await createScratchDirectory(t);
  const gateways = [startGatewayInOwnProcess(t, fresh), startGatewayInOwnProcess(t, fresh)];
  const ends = await Promise.allSettled(gateways.map((gateway) => gateway.next("ready")));
  const refusals = ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : []));
  assert.equal(refusals.length, 1, refusals.join("\n"));
  assert.match(refusals[0] ?? "", /is in use by process/);
  await gateways[ends.findIndex((end) => end.status === "fulfilled")]?.stop();
  assert.deepEqual((await readdir(join(fresh.dataDir, "postgres"))).sort(), ["cluster", "postgres.log", "run"]);
});

test("a start ignores the postmaster.pid file of a server that no longer runs", async (t) => {
  await (await place.start()).stop();
  const { uid, gid } = await stat(place.cluster);
  const pidFile = join(place.cluster, "postmaster.pid");
  const lines = (pid: number) => `${pid}\n${place.cluster}\n1700000000\n5432\n/nowhere\n\n  1 2\nready   \n`;

  const stranger = spawn("/bin/cat", [], { uid, gid, stdio: ["pipe", "pipe", "ignore"] });
  t.after(() => stranger.kill());
  await new Promise((resolve) => stranger.once("spawn", resolve));
  const dead = spawn("/bin/true");
  await new Promise((resolve) => dead.once("exit", resolve));

  for (const text of [lines(stranger.pid ?? 0), lines(dead.pid ?? 0), ""]) {
    await writeFile(pidFile, text);
    const postgres = await place.start();
    assert.equal(postgres.adopted, false);
    await postgres.stop();
  }
  stranger.stdin.write("still here");
  const [said] = await once(stranger.stdout, "data");
  assert.equal(String(said), "still here", "the stranger lives");
});

test("a start waits for a server that is shutting down", async (t) => {
  const killed = startGatewayInOwnProcess(t, place);
  const { pid, host } = await killed.next("ready");
  const client = new pg.Client({ host, port: 5432, user: "tollgate", database: "tollgate" });
  await client.connect();
  await killed.kill();
  // SIGTERM is PostgreSQL's smart shutdown, which waits until every client has disconnected.
  process.kill(pid, "SIGTERM");
  await eventually("it says that it stops", async () =>
    (await readFile(join(place.cluster, "postmaster.pid"), "utf8")).includes("stopping"),
  );
  const postgres = await place.start({
    progress(what) {
      if (what === "waiting for PostgreSQL to stop") client.end();
    },
  });
  assert.notEqual(postgres.pid, pid);
  assert.equal(postgres.adopted, false);
  await postgres.stop();
});

test("a start removes the leftovers of an interrupted first start", async (t) => {
  const fresh = await createScratchDirectory(t);
  const interrupted = startGatewayInOwnProcess(t, fresh);
  assert.equal((await interrupted.next("progress")).what, "creating the database cluster");
  await interrupted.kill();
  await mkdir(join(fresh.dataDir, "postgres", "cluster.new-abcdef", "base"), { recursive: true });
  const postgres = await fresh.start();
  await postgres.stop();
  const second = await fresh.start();
  assert.deepEqual((await readdir(join(fresh.dataDir, "postgres"))).sort(), ["cluster", "postgres.log", "run"]);
  await second.stop();
});

test("a start refuses the data of another major version of PostgreSQL", async () => {
  await (await place.start()).stop();
  const versionFile = join(place.cluster, "PG_VERSION");
  const version = await readFile(versionFile);
  await writeFile(versionFile, "15\n");
  await assert.rejects(place.start(), oneLine(/was created by PostgreSQL 15 but Tollgate uses PostgreSQL 18: move/));
  await rename(versionFile, `${versionFile}.away`);
  await assert.rejects(place.start(), oneLine(/cluster is not a database cluster: move it away/));
  await rename(`${versionFile}.away`, versionFile);
  await writeFile(versionFile, version);
});

test("the error for a data directory that cannot be created gives the path and the reason", async () => {
  const file = join(place.directory, "file");
  await writeFile(file, "");
  await assert.rejects(
    place.start({ dataDir: join(file, "data") }),
    oneLine(/^Data directory \S+\/file\/data cannot be used: .*not a directory/),
  );
  await assert.rejects(place.start({ dataDir: file }), oneLine(/^Data directory \S+\/file cannot be used: /));
});

test(
  "the error for a read-only data directory gives path and reason",
  runsAsRoot ? { skip: "root may" } : {},
  async () => {
    const closed = join(place.directory, "closed");
    await mkdir(closed, { mode: 0o500 });
    await assert.rejects(place.start({ dataDir: closed }), oneLine(/closed cannot be used: permission denied\.$/));
  },
);

test("the error of a server that does not start includes its log", async () => {
  await (await place.start()).stop();
  const control = join(place.cluster, "global", "pg_control");
  await rename(control, `${control}.away`);
  await assert.rejects(place.start(), (error) => {
    assert.ok(error instanceof PrivatePostgresError && error.cause instanceof Error);
    assert.match(error.cause.message, /pg_control/);
    return oneLine(/^PostgreSQL did not start on \S+cluster: /)(error);
  });
  await rename(`${control}.away`, control);
});

test("a large log is rotated at the next start", async () => {
  await (await place.start()).stop();
  const serverLog = join(home, "postgres.log");
  await truncate(serverLog, 11 << 20);
  await place.start();
  assert.ok((await stat(serverLog)).size < 10_000);
  assert.equal((await stat(`${serverLog}.1`)).size, 11 << 20);
});

test("a start works with long paths and special characters", async (t) => {
  await (await place.start()).stop();
  const odd = join(place.directory, 'a "b", c');
  await rename(place.dataDir, odd);
  const inHome = await place.start({ dataDir: odd });
  assert.equal(inHome.connection.host, join(odd, "postgres", "run"));
  assert.equal((await queryPostgres(inHome.connection, "select 1")).length, 1);
  await inHome.stop();

  const long = join(place.directory, "long-".repeat(20));
  await rename(odd, long);
  const elsewhere = await place.start({ dataDir: long });
  t.after(() => rm(elsewhere.connection.host, { recursive: true }));
  assert.ok(elsewhere.connection.host.startsWith(tmpdir()));
  assert.equal((await stat(elsewhere.connection.host)).mode & 0o777, 0o700);
  assert.equal((await queryPostgres(elsewhere.connection, "select 1")).length, 1);
  await elsewhere.stop();
  await rename(long, place.dataDir);
});
