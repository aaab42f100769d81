/** Tests that admin commands print and record the database's time, even on a machine with a wrong clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { systemClock } from "../../base/clock.ts";
import { newIds, publicId } from "../../base/ids.ts";
import { systemRandom } from "../../base/random.ts";
import { DAY_MS } from "../../base/time.ts";
import { formatConnectionUrl, openTestDatabase } from "../../db/testing.ts";
import { adminCommands } from "./admin.ts";

test("an admin command uses the database's clock to show whether a key has expired", async (t) => {
  const { pool, connection, close } = await openTestDatabase();
  t.after(close);
  const newId = newIds(systemClock, systemRandom());
  const accountId = newId();
  await pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [accountId]);
  await pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [accountId]);
  const real = systemClock.now();
  t.mock.method(systemClock, "now", () => real - 2 * DAY_MS);
  const run = async (name: string, args: string[]): Promise<string> => {
    const terminal = new FakeTerminal();
    const env = {
      DATABASE_URL: formatConnectionUrl(connection),
      KEY_PEPPER: "a pepper of tests, 32 characters or more",
      RECEIPT_SEED: Buffer.alloc(32, 1).toString("base64url"),
    };
    const given = { json: false, args, flags: {}, switches: new Set<string>() };
    const code = await adminCommands[`admin ${name}`]?.run(given, { terminal, env });
    assert.equal(code, 0);
    return terminal.text;
  };
  await run("key create", [publicId("acc", accountId), "laptop"]);
  const { rows } = await pool.query("update api_key set expires_at = now() - interval '1 day' returning id");
  assert.match(await run("key show", [publicId("key", rows[0].id)]), /State\s+expired/);
});
