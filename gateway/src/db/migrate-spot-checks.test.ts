/** A node's count of answers becomes a count per model, and its checks stay. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { SQL, sqlUpTo } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

test("migrating from 0049 gives each checked model the node's count of answers, and keeps the number of checks", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await sqlUpTo(t, "0049") });
  t.after(close);
  await pool.query(
    `with host as (insert into account (id, kind, name) values (gen_random_uuid(), 'host', 'a host') returning id),
          made as (insert into node (id, account_id, name, state) select gen_random_uuid(), id, 'a node', 'ready' from host returning id),
          counted as (insert into spot_check_node (node_id, answers, checked) select id, 5000, 70 from made)
     insert into spot_check_test (node_id, model, at, evidence, confirmed, watch)
     select id, model, now(), '{0}', 0, 0 from made, unnest(array['a', 'b']) model`,
  );
  await migrate(pool, { directory: SQL, log: createLog("silent") });
  const { rows } = await pool.query(
    "select model, answers::int, checked::int from spot_check_model join spot_check_node using (node_id) order by model",
  );
  assert.deepEqual(rows.map(Object.values), [
    ["a", 5000, 70],
    ["b", 5000, 70],
  ]);
});
