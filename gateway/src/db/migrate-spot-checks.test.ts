/**
 * Tests the migrations of spot checks: a node's counts of answers and checks become counts per model, in the row of the
 * node's sequential test for that model (table `spot_check_test`), and only judged checks stay counted.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("migrating from schema 0049 copies a node's answer count to each checked model, and recounts its judged checks", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0049") });
  t.after(close);
  await pool.query(
    `with host as (insert into account (id, kind, name) values (gen_random_uuid(), 'host', 'a host') returning id),
          made as (insert into node (id, account_id, name, state) select gen_random_uuid(), id, 'a node', 'ready' from host returning id),
          counted as (insert into spot_check_node (node_id, answers, checked) select id, 5000, 70 from made)
     insert into spot_check_test (node_id, model, at, evidence, confirmed, watch)
     select id, model, now(), '{0}', 0, 0 from made, unnest(array['a', 'b']) model`,
  );
  await pool.query(
    `insert into spot_check (id, request_id, node_id, verifier_id, model, method, class, tokens, verdict, calibrates, read_tokens, cost_pico, at)
     select gen_random_uuid(), gen_random_uuid(), id, id, model, 'text', 'c', 1, verdict, false, 0, 0, now()
       from node, unnest(array['a', 'b', 'c']) model, unnest(array['ok', 'bad', 'disputed', 'unjudged', 'trap_seen', 'trap_missed', 'sample']) verdict
      where (model, verdict) <> ('b', 'ok')`,
  );
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  const { rows } = await pool.query("select model, answers::int, checked::int from spot_check_test order by model");
  assert.deepEqual(rows.map(Object.values), [
    ["a", 5000, 3],
    ["b", 5000, 2],
  ]);
});

test("migrating from schema 0053 keeps a node's answers by model and the evidence against it", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0053") });
  t.after(close);
  await pool.query(
    `with host as (insert into account (id, kind, name) values (gen_random_uuid(), 'host', 'a host') returning id),
          made as (insert into node (id, account_id, name, state)
                   select gen_random_uuid(), host.id, name, 'ready' from host, unnest(array['tested', 'not tested']) name returning id, name),
          checked as (insert into spot_check_node (node_id, checked) select id, case name when 'tested' then 7 else 1 end from made),
          answered as (insert into spot_check_model (node_id, model, answers)
                       select id, model, answers from made, (values ('a', 40), ('b', 300)) m(model, answers))
     insert into spot_check_test (node_id, model, at, evidence, confirmed, watch)
     select id, 'a', now(), '{3}', 2, 5 from made where name = 'tested'`,
  );
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  const { rows } = await pool.query(
    `select n.name, t.model, t.answers::int, t.checked::int, t.confirmed, t.at is not null as tested, cardinality(t.evidence) as figures
       from spot_check_test t join node n on n.id = t.node_id order by n.name, t.model`,
  );
  assert.deepEqual(rows.map(Object.values), [
    ["not tested", "a", 40, 0, 0, false, 12],
    ["not tested", "b", 300, 0, 0, false, 12],
    ["tested", "a", 40, 0, 2, true, 1],
    ["tested", "b", 300, 0, 0, false, 12],
  ]);
});
