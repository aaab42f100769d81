/** Connecting by a URL: several hosts, read-only servers, and a pooler in between. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { eventually, hangSignal } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { systemClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { assertPoolerKeepsSessions } from "./check-pooler.ts";
import { closeImmediately } from "./close-immediately.ts";
import { DatabaseClient, parseDatabaseHosts, parseSessionOptions } from "./database-client.ts";
import { DatabaseHeartbeat } from "./database-heartbeat.ts";
import { parseDatabaseUrl } from "./database-url.ts";
import { type DatabaseLineage, WrongDatabaseHistoryError } from "./lineage/database-lineage.ts";
import { type Connection, clientConfig, openPool } from "./pool.ts";
import { checkSession } from "./session-settings.ts";
import { type DatabaseProxy, openDatabaseProxy } from "./testing/database-proxy.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const PGBOUNCER = "/usr/sbin/pgbouncer";

let database: TestDatabase;
let [first, second]: DatabaseProxy[] = [];
before(async () => {
  database = await openTestDatabase();
  [first, second] = [await openDatabaseProxy(database.connection), await openDatabaseProxy(database.connection)];
});
after(async () => {
  for (const proxy of [first, second]) await proxy?.close();
  await database.close();
});

const portOf = (proxy: DatabaseProxy | undefined): number =>
  parseDatabaseUrl(proxy?.connection.connectionString ?? "").hosts[0]?.port ?? 0;
/** Returns the test database's URL with other hosts. */
const urlWith = (hosts: string, query = ""): Connection => {
  const url = (first as DatabaseProxy).connection.connectionString;
  return { connectionString: url.replace(/127\.0\.0\.1:\d+/, hosts) + query };
};
type PlacesKey = Parameters<typeof parseDatabaseHosts>[0];
const connected = async (t: TestContext, connection: Connection): Promise<DatabaseClient> => {
  const client = new DatabaseClient(clientConfig(connection, "test"));
  client.on("error", () => {});
  t.after(() => client.end());
  await client.connect();
  return client;
};

describe("a database URL with several hosts", () => {
  test("connects to the first host that answers, and to another host after that one has failed", async (t) => {
    const [a, b] = [portOf(first), portOf(second)];
    const connection = urlWith(`127.0.0.1:1,127.0.0.1:${a},127.0.0.1:${b}`, "?target_session_attrs=read-write");
    assert.equal((await connected(t, connection)).port, a);
    assert.equal((await connected(t, connection)).port, a);
    await first?.refuse();
    t.after(() => first?.resume());
    // The first attempt fails. Afterwards the next connection looks for another host.
    await assert.rejects(connected(t, connection));
    assert.equal((await connected(t, connection)).port, b);
  });

  test("puts the host that failed last at the end of the list, and skips unsuitable hosts", async (t) => {
    const [a, b] = [portOf(first), portOf(second)];
    const connection = urlWith(`127.0.0.1:${a},127.0.0.1:${b}`, "?target_session_attrs=read-write") as PlacesKey;
    const client = await connected(t, connection);
    assert.equal(client.port, a);
    client.forsake();
    const next = await connected(t, connection);
    assert.equal(next.port, b, "the first host still answers");
    client.forsake();
    assert.equal((await connected(t, connection)).port, b, "what was found wrong with another host says nothing of it");
    parseDatabaseHosts(connection).suits = async ({ port }) => {
      if (port === a) throw new Error("it is an old primary");
    };
    next.forsake();
    assert.equal((await connected(t, connection)).port, b);
  });

  test("keeps its choice of a host even if the client that started the search timed out", async (t) => {
    const connection = urlWith(`127.0.0.1:1,127.0.0.1:${portOf(second)}`) as PlacesKey;
    let looks = 0;
    parseDatabaseHosts(connection).suits = async () => {
      looks += 1;
    };
    const impatient = new DatabaseClient(clientConfig(connection, "test"));
    const connecting = impatient.connect();
    closeImmediately(impatient, new Error("it takes too long"));
    await assert.rejects(connecting, /it takes too long/);
    await connected(t, connection);
    assert.equal(looks, 1);
  });

  test("moves to another host when the heartbeat finds the current one unusable", async (t) => {
    const [a, b] = [portOf(first), portOf(second)];
    const connection = urlWith(`127.0.0.1:${a},127.0.0.1:${b}`, "?target_session_attrs=read-write");
    const asked: number[] = [];
    const lineage = {
      isOn: true,
      beat: async ({ port }: pg.Client) => {
        asked.push(port);
        if (port === a) throw new WrongDatabaseHistoryError("it is an old primary");
      },
    } as unknown as DatabaseLineage;
    const clock = systemClock;
    const heartbeat = new DatabaseHeartbeat({
      ...{ connection, clock, time: { read() {} }, lineage, durability: "assumed" },
      ...{ isDoubtful: () => false, onLost: () => undefined },
    });
    t.after(() => heartbeat.close());
    await assert.rejects(heartbeat.beat(hangSignal()), { name: "WrongHistory" });
    await heartbeat.beat(hangSignal());
    assert.deepEqual(asked, [a, b]);
  });

  test("sends the password when it tests hosts, although copies of the pool's settings lack it", async (t) => {
    const heard: string[] = [];
    const server = createServer((socket) => {
      socket.once("data", () => {
        // Sends the server's request for a plain-text password.
        socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
        socket.once("data", (message) => {
          heard.push(message.subarray(5, -1).toString());
          socket.destroy();
        });
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connection = { connectionString: `postgres://user:secret@${at},${at}/name` };
    const pool = openPool(connection, { log: createLog("silent"), sizeMax: 1 });
    await assert.rejects(pool.query("select 1"), { name: "NoUsableHost" });
    assert.deepEqual(heard, ["secret", "secret"]);
    await pool.end();
  });

  test("reports for each host why it cannot be used", async (t) => {
    await assert.rejects(connected(t, urlWith("127.0.0.1:1,127.0.0.1:2")), {
      name: "NoUsableHost",
      message: /127\.0\.0\.1:1: .*ECONNREFUSED.*; 127\.0\.0\.1:2: .*ECONNREFUSED/,
    });
  });

  test("skips a read-only server and names it", async (t) => {
    const alter = (what: string) =>
      database.pool.query(
        `set default_transaction_read_only = off;
         do $$ begin execute format('alter database %I ${what}', current_database()); end $$`,
      );
    await alter("set default_transaction_read_only = on");
    t.after(() => alter("reset default_transaction_read_only"));
    const connection = urlWith(`127.0.0.1:${portOf(first)}`, "?target_session_attrs=primary");
    await assert.rejects(connected(t, connection), { name: "TakesNoWrites", message: "the database is read-only" });
  });
});

test("sslmode=prefer continues without TLS when the server has none; sslmode=require fails", async (t) => {
  const at = `127.0.0.1:${portOf(second)}`;
  assert.equal((await connected(t, urlWith(at, "?sslmode=prefer"))).ssl, false);
  await assert.rejects(connected(t, urlWith(at, "?sslmode=require")), /does not support SSL/);
});

test("a client that is closed while it connects rejects with the reason for closing", async () => {
  const client = new DatabaseClient(clientConfig(urlWith(`127.0.0.1:${portOf(second)}`, "?sslmode=prefer"), "test"));
  const connecting = client.connect();
  // Closes the client like the database guard, which closes clients even while they still read certificates.
  closeImmediately(client, new Error("the database is away"));
  await assert.rejects(connecting, /the database is away/);
});

test("reads session options like PostgreSQL, including quotes and escapes", () => {
  assert.deepEqual(parseSessionOptions("-c TimeZone=UTC -c DateStyle=ISO,\\ MDY -cjit=off --a.b=c"), {
    TimeZone: "UTC",
    DateStyle: "ISO, MDY",
    jit: "off",
    "a.b": "c",
  });
});

const isThere = (): boolean => {
  try {
    accessSync(PGBOUNCER, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

describe("behind the pooler pgbouncer", { skip: isThere() ? false : `${PGBOUNCER} is not installed` }, () => {
  const open = async (t: TestContext, mode: string, more = ""): Promise<{ connectionString: string }> => {
    const directory = await mkdtemp(join(tmpdir(), "tollgate-pgbouncer-"));
    const { user, database: name } = parseDatabaseUrl((second as DatabaseProxy).connection.connectionString);
    const file = join(directory, "pgbouncer.ini");
    await writeFile(
      file,
      `[databases]\n${name} = host=127.0.0.1 port=${portOf(second)} user=${user}\n[pgbouncer]\nlisten_addr =\n` +
        `unix_socket_dir = ${directory}\nauth_type = any\npool_mode = ${mode}\n${more}\n`,
    );
    // pgbouncer refuses to run as root, so the test runs it as the user 65534.
    const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    // pgbouncer listens on a socket file, because another process could take a free TCP port before it starts.
    await chmod(directory, 0o777);
    const child: ChildProcess = spawn(PGBOUNCER, ["-q", file], { stdio: "ignore", ...asNobody });
    t.after(async () => {
      child.kill("SIGKILL");
      await rm(directory, { recursive: true });
    });
    const connection = {
      connectionString: `postgres://${user}@/${name}?host=${encodeURIComponent(directory)}&port=6432`,
    };
    await eventually("pgbouncer listens", async () => {
      const client = new DatabaseClient(clientConfig({ ...connection }, "test"));
      client.on("error", () => {});
      const error = await client.connect().then(
        () => client.end(),
        (failure: NodeJS.ErrnoException) => failure,
      );
      return error?.code !== "ECONNREFUSED" && error?.code !== "ENOENT";
    });
    return connection;
  };

  test("in session mode, applies the session's settings whether pgbouncer refuses or drops startup options", async (t) => {
    for (const more of ["", "ignore_startup_parameters = options,statement_timeout,lock_timeout"]) {
      const connection = await open(t, "session", more);
      // The first connection may fail. It detects that a pooler is in front.
      await connected(t, connection).catch((error) => assert.match(error.message, /unsupported startup parameter/));
      const client = await connected(t, connection);
      assert.equal(parseDatabaseHosts(connection).isPooled, true);
      await checkSession(client, "assumed");
      const { rows } = await client.query("show statement_timeout");
      assert.deepEqual(rows, [{ statement_timeout: "30s" }]);
      await assertPoolerKeepsSessions(clientConfig(connection, "test"));
    }
  });

  for (const mode of ["transaction", "statement"]) {
    test(`refuses ${mode} mode with the mode's name and the remedy`, async (t) => {
      const connection = await open(t, mode);
      await connected(t, connection).catch((error) => assert.match(error.message, /unsupported startup parameter/));
      await connected(t, connection);
      await assert.rejects(assertPoolerKeepsSessions(clientConfig(connection, "test")), {
        name: "DatabaseMisconfigured",
        message: /pool_mode = transaction or statement.*set pool_mode = session/,
      });
    });
  }
});
