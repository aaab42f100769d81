/** The user that runs PostgreSQL, and the cluster's location if that user cannot reach the data directory. */
import assert from "node:assert/strict";
import { chmod, chown, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { LOCATION_NOTE, openDataDir } from "./cluster-home.ts";
import { PrivatePostgresError } from "./errors.ts";
import { runToCompletion } from "./os-user.ts";
import { createScratchDirectory, queryPostgres, runsAsRoot, silentLog, startGatewayInOwnProcess } from "./testing.ts";

const onlyRoot = runsAsRoot ? {} : { skip: "needs root" };
/** Any user ID with a passwd entry. */
const NOBODY = { uid: 65534, gid: 65534 };

async function canNobodyRunUs(): Promise<boolean> {
  const read = 'test -r "$1" && test -x "$2"';
  const args = ["-c", read, "sh", import.meta.filename, process.execPath];
  return (await runToCompletion("/bin/sh", args, { ...NOBODY, name: "nobody" })).code === 0;
}

const asNobody = runsAsRoot && (await canNobodyRunUs()) ? {} : { skip: "needs root and a checkout others can read" };

async function uidOfProcess(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
}

/** A cluster of this process's user, shared by tests that need any cluster. */
const place = await createScratchDirectory({ after });
afterEach(() => place.stopAll());

test(
  "root runs PostgreSQL as another user, who owns the PostgreSQL cluster (the data directory of a server)",
  onlyRoot,
  async () => {
    const postgres = await place.start();
    const uid = await uidOfProcess(postgres.pid);
    assert.notEqual(uid, 0);
    assert.equal((await stat(place.cluster)).uid, uid);
  },
);

test(
  "an ordinary user runs PostgreSQL as itself, and root later runs that user's PostgreSQL cluster as that user",
  asNobody,
  async (t) => {
    const fresh = await createScratchDirectory(t);
    await mkdir(fresh.dataDir);
    await chown(fresh.dataDir, NOBODY.uid, NOBODY.gid);
    const ordinary = startGatewayInOwnProcess(t, fresh, NOBODY);
    const { pid } = await ordinary.next("ready");
    assert.equal(await uidOfProcess(pid), NOBODY.uid);
    await ordinary.stop();

    const byRoot = await fresh.start();
    assert.equal(await uidOfProcess(byRoot.pid), NOBODY.uid);
    await byRoot.stop();

    const again = startGatewayInOwnProcess(t, fresh, NOBODY);
    await again.next("ready");
    await again.stop();
  },
);

test("the error for a PostgreSQL cluster of another system user names that user", asNobody, async (t) => {
  await (await place.start()).stop();
  const ordinary = startGatewayInOwnProcess(t, place, NOBODY);
  await assert.rejects(
    ordinary.next("ready"),
    /cluster \S+ belongs to the user \S+: run the gateway as that user or as root/,
  );
});

test("the error for a read-only data directory gives the path and the reason", asNobody, async (t) => {
  const fresh = await createScratchDirectory(t);
  await mkdir(fresh.dataDir, { mode: 0o755 });
  const ordinary = startGatewayInOwnProcess(t, fresh, NOBODY);
  await assert.rejects(ordinary.next("ready"), /Data directory \S+ cannot be used: permission denied\./);
});

test(
  "the PostgreSQL cluster is created elsewhere when PostgreSQL's system user has no access to the data directory",
  onlyRoot,
  async (t) => {
    const fresh = await createScratchDirectory(t);
    const hidden = join(fresh.directory, "hidden");
    await mkdir(hidden, { mode: 0o700 });
    const dataDir = join(hidden, "data");

    const first = await fresh.start({ dataDir });
    const home = (await readFile(join(dataDir, LOCATION_NOTE), "utf8")).split("\n")[0] ?? "";
    assert.ok(home.startsWith(fresh.rootPlace));
    assert.deepEqual(await readdir(dataDir), [LOCATION_NOTE]);
    assert.equal((await stat(join(home, "cluster"))).mode & 0o777, 0o700);
    await queryPostgres(first.connection, "create table kept (a int)");
    await first.stop();

    // Simulates a first start that was interrupted before it wrote the note with the cluster's location.
    await rm(join(dataDir, LOCATION_NOTE));
    const second = await fresh.start({ dataDir });
    assert.deepEqual(await queryPostgres(second.connection, "select a from kept"), []);
    await second.stop();

    const moved = join(hidden, "moved");
    await rename(dataDir, moved);
    const third = await fresh.start({ dataDir: moved });
    assert.deepEqual(await queryPostgres(third.connection, "select a from kept"), []);
    await third.stop();

    await rename(home, `${home}-away`);
    await assert.rejects(
      fresh.start({ dataDir: moved }),
      /The file \S+ says that the database cluster is in \S+, but it is not: restore the cluster/,
    );
  },
);

test(
  "a start does not create an empty PostgreSQL cluster while the existing one is in a folder that its system user can no longer access",
  onlyRoot,
  async () => {
    await (await place.start()).stop();
    const { mode } = await stat(place.dataDir);
    await chmod(place.dataDir, 0o700);
    await assert.rejects(place.start(), (error) => {
      assert.ok(error instanceof PrivatePostgresError);
      assert.match(error.message, /cannot be reached by its owner \S+: make the directories above it traversable/);
      return true;
    });
    await chmod(place.dataDir, mode);
  },
);

test("a start changes the permissions of an existing data directory only if the directory is empty", async () => {
  const empty = join(place.directory, "empty");
  await mkdir(empty);
  await chmod(empty, 0o755);
  assert.equal(await openDataDir(empty, silentLog), empty);
  assert.equal((await stat(empty)).mode & 0o777, 0o751);

  await (await place.start()).stop();
  await chmod(place.dataDir, 0o755);
  await (await place.start()).stop();
  assert.equal((await stat(place.dataDir)).mode & 0o777, 0o755);
  assert.equal((await stat(place.cluster)).mode & 0o777, 0o700);
});
