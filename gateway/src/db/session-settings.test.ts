/**
 * Connections use our settings, whatever the role, database or server is set to. A server that may lose commits is
 * refused.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { createLog } from "../base/log.ts";
import { DatabaseClient } from "./database-client.ts";
import { clientConfig, openPool } from "./pool.ts";
import { checkSession, DatabaseMisconfigured, findWrongSetting } from "./session-settings.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "./testing.ts";

const FOREIGN = {
  TimeZone: "Asia/Kolkata",
  DateStyle: "German, DMY",
  IntervalStyle: "sql_standard",
  default_transaction_isolation: "serializable",
  bytea_output: "escape",
  extra_float_digits: "-3",
  transform_null_equals: "on",
  synchronous_commit: "off",
};
const GOOD = {
  TimeZone: "UTC",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  default_transaction_isolation: "read committed",
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  transform_null_equals: "off",
  synchronous_commit: "on",
  fsync: "on",
  full_page_writes: "on",
};

describe("connection settings", () => {
  let database: TestDatabase;
  let name: string;
  before(async () => {
    database = await openTestDatabase();
    name = (await database.pool.query<{ name: string }>("select current_database() as name")).rows[0]?.name as string;
    for (const [setting, value] of Object.entries(FOREIGN)) {
      await database.pool.query(`alter database ${name} set ${setting} = '${value}'`);
    }
  });
  after(() => database.close());

  const ask = async (config: pg.ClientConfig): Promise<Record<string, string>> => {
    const client = new DatabaseClient(config);
    await client.connect();
    try {
      const settings: Record<string, string> = {};
      for (const each of Object.keys(FOREIGN)) {
        settings[each] = (await client.query<{ value: string }>("select current_setting($1) as value", [each])).rows[0]
          ?.value as string;
      }
      return settings;
    } finally {
      await client.end();
    }
  };
  const own = (settings: Record<string, string>) => {
    for (const each of Object.keys(FOREIGN)) assert.equal(settings[each], GOOD[each as keyof typeof GOOD], each);
  };

  test("of the gateway override the settings of the role, the database and the server", async () => {
    assert.deepEqual(await ask({ ...(database.connection as pg.ClientConfig) }), FOREIGN, "the database's own");
    own(await ask(clientConfig(database.connection, "test")));
    own(await ask(clientConfig({ connectionString: formatConnectionUrl(database.connection) }, "test")));
  });

  test("are applied together with the options in the database URL", async () => {
    const url = `${formatConnectionUrl(database.connection)}&options=${encodeURIComponent("-c synchronous_commit=remote_apply")}`;
    const { synchronous_commit: commit, ...others } = await ask(clientConfig({ connectionString: url }, "test"));
    assert.equal(commit, "remote_apply");
    own({ ...others, synchronous_commit: "on" });
  });

  test("are checked after connecting, because a connection pooler may drop them", async () => {
    const pool = openPool(database.connection, { log: createLog("silent"), sizeMax: 1 });
    await checkSession(pool, "assumed");
    await assert.rejects(checkSession(pool, "checked"), (error: Error) => {
      assert.ok(error instanceof DatabaseMisconfigured);
      assert.match(
        error.message,
        /^the database has fsync = off, so a crash can lose charges .*ALTER SYSTEM SET fsync = on/,
      );
      return true;
    });
    await pool.end();
    const plain = new pg.Client(database.connection as pg.ClientConfig);
    await plain.connect();
    await assert.rejects(
      checkSession(plain, "assumed"),
      /TimeZone = Asia\/Kolkata, and Tollgate needs UTC: .*ALTER ROLE/,
    );
    await plain.end();
  });
});

describe("required database settings", () => {
  test("refuse a database setting that can lose a confirmed charge, and name it", () => {
    assert.equal(findWrongSetting(GOOD, "checked"), undefined);
    for (const name of ["fsync", "full_page_writes", "synchronous_commit"]) {
      assert.match(
        findWrongSetting({ ...GOOD, [name]: "off" }, "checked") ?? "",
        new RegExp(`^the database has ${name} = off, so`),
      );
      assert.equal(findWrongSetting({ ...GOOD, [name]: "off" }, "assumed"), undefined);
    }
    for (const stronger of ["remote_write", "remote_apply", "local"]) {
      assert.equal(findWrongSetting({ ...GOOD, synchronous_commit: stronger }, "checked"), undefined);
    }
  });
});
