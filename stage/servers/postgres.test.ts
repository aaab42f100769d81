/**
 * Tests every operation on the pair of PostgreSQL servers with a client that connects through the proxy, on the oldest
 * and newest supported versions.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pg from "pg";
import { explainMissingPostgres } from "../../gateway/src/db/testing/postgres-versions.ts";
import { eventually, HANG_LIMIT_MS } from "../wait.ts";
import { type Postgres, startPostgres } from "./postgres.ts";

/** The time limit for statements on a server that may never answer, in milliseconds. */
const SHORT_MS = 500;
const CLIENT_MS = 10_000;

/** Runs one statement on a connection of its own. */
async function ask(postgres: Postgres, sql: string, withinMs = HANG_LIMIT_MS): Promise<unknown> {
  const client = new pg.Client({
    connectionString: postgres.url,
    connectionTimeoutMillis: withinMs,
    query_timeout: withinMs,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query({ text: sql, rowMode: "array" })).rows[0]?.[0];
  } finally {
    void client.end().catch(() => {});
  }
}

const add = (postgres: Postgres, withinMs?: number): Promise<unknown> =>
  ask(postgres, "insert into written default values returning id", withinMs);
const isBack = (postgres: Postgres): Promise<true> =>
  eventually("it takes writes", () =>
    add(postgres, CLIENT_MS).then(
      () => true,
      () => false,
    ),
  );

for (const major of [15, 18]) {
  const skip = (await explainMissingPostgres(major)) ?? false;
  describe(`PostgreSQL ${major}`, { skip }, () => {
    test("survives kills, freezes, cut connections, slow and full disks and failovers without losing data", async (t) => {
      const postgres = await startPostgres({ major, diskMb: 256 });
      t.after(() => postgres.close());
      await ask(postgres, "create table written (id serial primary key, at timestamptz default now(), more text)");
      assert.match(String(await ask(postgres, "show server_version")), new RegExp(`^${major}\\.`));

      await postgres.kill();
      await assert.rejects(add(postgres));
      await postgres.start();
      await isBack(postgres);

      await postgres.restart();
      await isBack(postgres);

      postgres.stop();
      await assert.rejects(add(postgres, SHORT_MS), /timeout/i);
      postgres.cont();
      await isBack(postgres);

      await postgres.cutFront();
      await assert.rejects(add(postgres, SHORT_MS), /timeout/i);
      await postgres.query("select 1");
      await postgres.healFront();
      await isBack(postgres);
      await postgres.cutFront("refusing");
      await assert.rejects(add(postgres), /ECONNREFUSED/);
      await postgres.healFront();
      await isBack(postgres);

      await postgres.inStep();
      for (const ms of [80, 300]) {
        await postgres.slowDisk(ms);
        await eventually(`a commit takes ${ms} ms`, async () => {
          const began = performance.now();
          await add(postgres);
          return performance.now() - began >= ms;
        });
      }
      await postgres.fastDisk();

      // Without a standby, commits wait for a moment; then the primary continues alone, and later together with the
      // standby again.
      await postgres.kill("standby");
      await isBack(postgres);
      await assert.rejects(postgres.failover(), /the standby is down/);
      await postgres.start("standby");
      await postgres.inStep();
      postgres.stop("standby");
      await isBack(postgres);
      postgres.cont("standby");
      await postgres.inStep();

      const [before, told] = [postgres.primary(), new Set<unknown>()];
      let writing = true;
      const writer = (async () => {
        while (writing)
          await add(postgres, CLIENT_MS).then(
            (id) => told.add(id),
            () => {},
          );
      })();
      await eventually("some are written", () => told.size > 20);
      await postgres.failover();
      assert.notEqual(postgres.primary(), before);
      const sofar = told.size;
      await eventually("writing goes on", () => told.size > sofar + 20);
      await postgres.inStep();
      // Fails over and back; the second time the primary is already dead.
      await postgres.kill();
      await postgres.failover();
      assert.equal(postgres.primary(), before);
      const then = told.size;
      await eventually("writing goes on", () => told.size > then + 20);
      writing = false;
      await writer;
      const kept = new Set((await postgres.query<{ id: number }>("select id from written")).map(({ id }) => id));
      assert.deepEqual(
        [...told].filter((id) => !kept.has(id as number)),
        [],
        "everything that was answered is there",
      );

      await postgres.inStep();
      if (postgres.leftOut.length > 0) return t.diagnostic(postgres.leftOut.join());
      await postgres.fillDisk();
      const [page, large] = ["repeat('x', 1000)", 20_000];
      await assert.rejects(
        ask(postgres, `insert into written (more) select ${page} from generate_series(1, ${large})`),
      );
      await postgres.freeDisk();
      await isBack(postgres);
      await postgres.inStep();
    });
  });
}
