/** Which changes reach gateways' journals: those of every table with state of its own, also if a command makes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { nameBroadcastConnection } from "../db/connected-programs.ts";
import { clientConfig } from "../db/pool.ts";
import { openTestDatabase } from "../db/testing.ts";

test("a command sends its changes only while a gateway that records them is connected", async () => {
  const database = await openTestDatabase();
  const command = new pg.Client(clientConfig(database.connection, "command"));
  const listener = new pg.Client(clientConfig(database.connection, nameBroadcastConnection()));
  const reader = new pg.Client(clientConfig(database.connection, "reader"));
  try {
    for (const client of [command, reader]) await client.connect();
    const heard: string[] = [];
    const end = Promise.withResolvers<void>();
    reader.on("notification", ({ payload = "" }) => {
      if (payload === "end") end.resolve();
      else heard.push(payload);
    });
    await reader.query("listen tollgate");
    const act = (subject: string, rows: number) =>
      command.query(
        `insert into operator_action (id, at, operator, action, subject, outcome)
         select gen_random_uuid(), now(), 'o@x.example', 'key.limits', $1, 'done' from generate_series(1, $2::int)`,
        [subject, rows],
      );
    await act("alone", 100);
    assert.deepEqual((await command.query("select count(*)::int as n from history_change")).rows, [{ n: 0 }]);
    await listener.connect();
    await act("connected", 2);
    assert.deepEqual((await command.query("select count(*)::int as n from history_change")).rows, [{ n: 1 }]);
    await command.query("notify tollgate, 'end'");
    await end.promise;
    assert.equal(heard.length, 2);
    for (const payload of heard) assert.match(payload, /^change .*"subject": "connected"/);
  } finally {
    for (const client of [command, listener, reader]) await client.end();
    await database.close();
  }
});

/** The tables whose changes the journal does not record, by reason. */
const NOT_JOURNALED: Record<string, string[]> = {
  "entered again with requests": [
    "hold",
    "request",
    "ledger_account",
    "ledger_reserve",
    "unrolled",
    "usage_hour",
    "earning_hour",
    "key_budget",
  ],
  "sums, which rollups make of requests": [
    "label_day",
    "usage_day",
    "usage_day_account",
    "usage_hour_all",
    "performance",
    "performance_all",
    "performance_day",
    "performance_part",
    "closed_day",
    "late_day",
    "ledger_closing",
    "history_closing",
    "history_kept",
    "rollup_turn",
  ],
  "counts and samples, which continue": [
    "availability_turn",
    "model_hour",
    "model_minute",
    "model_watch",
    "node_presence",
    "node_record",
    "refusal_batch",
    "refusal_summary",
    "refused_hour",
    "refused_last",
    "unfunded_hour",
    "identity_attempt",
    "incident",
    "status_turn",
    "status_view",
    "hold_sweep",
    "books_verdict",
    "spot_check",
    "spot_check_due",
    "spot_check_test",
    "spot_check_verifier",
    "request_attempt",
  ],
  "on a gateway's disk too (given-up.jsonl)": ["settlement_given_up"],
  "sent already, or sent again by what is still true": ["notification", "notification_delivery", "notification_read"],
  "valid for minutes: the person begins again": ["identity_verification", "script_login"],
  "of the database itself": [
    "deployment",
    "deployment_mark",
    "function_file",
    "migration",
    "ledger_history",
    "history_loss",
    "history_change",
  ],
};

test("the journal records the changes of every table, except those listed with a reason in NOT_JOURNALED", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const { rows } = await pool.query(`select c.relname as name,
      exists (select from pg_trigger where tgrelid = c.oid and tgname like 'journal_change%') as journaled
    from pg_class c where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition`);
  const listed = new Set(Object.values(NOT_JOURNALED).flat());
  assert.deepEqual(
    rows.filter(({ name, journaled }) => journaled === listed.has(name)).map(({ name }) => name),
    [],
    "add a trigger to journal_change.sql, or the table and a reason to NOT_JOURNALED",
  );
});
