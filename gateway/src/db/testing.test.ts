import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { access } from "node:fs/promises";
import { test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { makeSqlDirectory } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("every test gets a migrated database of its own", async (t) => {
  const sql = await makeSqlDirectory(t, { migrations: { "0001_item.sql": "create table item (a int);" } });
  const [one, two] = await Promise.all([openTestDatabase({ sql }), openTestDatabase({ sql })]);
  await one.pool.query("insert into item values (1)");
  assert.equal((await one.pool.query("select a from item")).rows.length, 1);
  assert.equal((await two.pool.query("select a from item")).rows.length, 0);
  await Promise.all([one.close(), two.close()]);
});

test("a killed test process leaves no server and no files behind", async () => {
  const program = `
    import { openTestDatabase } from ${JSON.stringify(new URL("./testing.ts", import.meta.url).href)};
    const { connection } = await openTestDatabase();
    process.stdout.write(connection.host, () => process.kill(process.pid, "SIGKILL"));
  `;
  const { TEST_DATABASE_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let host = "";
  for await (const chunk of child.stdout) host += chunk;
  assert.match(host, /^\/tmp\/tollgate-test-/);
  // The watcher removes the files after the server has ended, so their absence proves both.
  await eventually("everything is removed", () =>
    access(host).then(
      () => false,
      (error) => error.code === "ENOENT",
    ),
  );
});
