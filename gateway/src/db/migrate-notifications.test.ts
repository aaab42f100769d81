/**
 * The migration turns waiting emails of the table `letter` into deliveries with the same text, tries and recipients.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("migrating from schema 0047 turns each waiting email into a pending delivery to the same person", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0047") });
  t.after(close);
  await pool.query("insert into account (id, kind, name) values (gen_random_uuid(), 'builder', 'an account')");
  for (const email of ["a@example.test", "b@example.test"]) {
    await pool.query(
      `with person as (insert into identity (id, email, name, email_verified) values (gen_random_uuid(), $1, 'A', true) returning id),
            owns as (insert into account_owner (account_id, identity_id) select a.id, p.id from account a, person p)
       insert into letter (id, identity_id, subject, text, attempts, next_at, created_at)
       select gen_random_uuid(), id, 'to ' || $1, 'words', 2, '2026-11-18T10:00Z', '2026-11-18T09:00Z' from person`,
      [email],
    );
  }

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  const { rows } = await pool.query(
    `select i.email, n.kind, n.data, n.listed, d.state, d.attempts, d.next_at, a.name
       from notification_delivery d join notification n on n.id = d.notification_id
       join identity i on i.id = d.identity_id join account a on a.id = d.account_id order by i.email`,
  );
  assert.deepEqual(
    rows,
    ["a@example.test", "b@example.test"].map((email) => ({
      email,
      kind: "email",
      data: { subject: `to ${email}`, text: "words" },
      listed: false,
      state: "pending",
      attempts: 2,
      next_at: new Date("2026-11-18T10:00Z"),
      name: "an account",
    })),
  );
  const { rows: left } = await pool.query("select to_regclass('letter') as letter");
  assert.deepEqual(left, [{ letter: null }]);
});
