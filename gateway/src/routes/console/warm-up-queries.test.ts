/** At its start, the gateway runs the console's queries once on every connection, without writing. */
import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";
import type pg from "pg";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { warmUpConsoleQueries } from "./warm-up-queries.ts";

const TABLES = [
  "identity_session",
  "account_owner",
  "usage_hour",
  "label_day",
  "performance_with_parts",
  "request",
  "ledger_account",
];

describe("warming up the console's queries at the start", () => {
  let platform: TestPlatform;
  before(async () => {
    platform = await openTestPlatform();
  });
  after(() => platform.close());

  /** Takes all connections of the pool, makes them read-only and releases them. Later queries on each are recorded. */
  const watchConnections = async (count: number): Promise<(() => string)[]> => {
    const clients = await Promise.all(Array.from({ length: count }, () => platform.pool.connect()));
    return await Promise.all(clients.map(readOnly));
  };
  const readOnly = async (client: pg.PoolClient): Promise<() => string> => {
    await client.query("set default_transaction_read_only = on");
    const { mock: asked } = mock.method(client, "query");
    client.release();
    return () => JSON.stringify(asked.calls.map((call) => call.arguments));
  };

  test("reads every table that the console's pages use, on every connection, and writes nothing", async () => {
    const { max } = platform.pool.options;
    const connections = await watchConnections(max);
    await warmUpConsoleQueries(platform.parts, { connections: max, isOver: () => false });
    for (const asked of connections) {
      for (const table of TABLES) assert.match(asked(), new RegExp(`\\b${table}\\b`));
    }
  });

  test("stops when the gateway closes", async () => {
    const session = mock.method(platform.parts.identities, "warm", async () => undefined);
    const accounts = mock.method(platform.parts.identities, "accountsOf");
    await warmUpConsoleQueries(platform.parts, { connections: 1, isOver: () => session.mock.callCount() > 0 });
    assert.equal(accounts.mock.callCount(), 0);
    session.mock.restore();
  });

  test("rejects with the database's error", async () => {
    mock.method(platform.parts.usage, "byLabel", () => Promise.reject(new Error("the store is away")));
    await assert.rejects(
      warmUpConsoleQueries(platform.parts, { connections: 2, isOver: () => false }),
      /the store is away/,
    );
  });
});
