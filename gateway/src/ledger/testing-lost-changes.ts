/**
 * For tests of re-entry: two databases with the same rows. Changes are made in one, recorded in gateways' journals, and
 * entered into the other, which lacks them as after a failover.
 */
import assert from "node:assert/strict";
import pg from "pg";
import { CHANGE_NOTICES_STARTUP_OPTION, watchCommittedChanges } from "../db/change-notices.ts";
import { clientConfig } from "../db/pool.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import type { JournalEntry } from "./journal-lines.ts";
import { createEmptyReentryResult, type LostCommitsReentryResult, reenterLostChanges } from "./lost-commit-reentry.ts";
import { newId } from "./testing.ts";

export const [BUILDER, HOST, NODE, OWNER, MEMBER, KEY] = [1, 2, 3, 4, 5, 6].map(
  (n) => `01a1e000-0000-7000-8000-00000000000${n}`,
) as [string, ...string[]];

/** The rows that the failover did not lose. */
const KEPT = `
  insert into account (id, kind, name, created_at) values ('${BUILDER}', 'builder', 'b', '2026-01-01'), ('${HOST}', 'host', 'h', '2026-01-01');
  insert into ledger_account (id, kind) values ('${BUILDER}', 'builder'), ('${HOST}', 'host');
  insert into identity (id, email, name, created_at, updated_at) values
    ('${OWNER}', 'owner@a.example', 'o', '2026-01-01', '2026-01-01'), ('${MEMBER}', 'member@a.example', 'm', '2026-01-01', '2026-01-01');
  insert into account_owner (identity_id, account_id, created_at) values ('${OWNER}', '${BUILDER}', '2026-01-01');
  insert into account_member (account_id, identity_id, role, created_at) values ('${BUILDER}', '${MEMBER}', 'member', '2026-01-01');
  insert into node (id, account_id, name, created_at, state_changed_at) values ('${NODE}', '${HOST}', 'n', '2026-01-01', '2026-01-01');
  insert into node_election (node_id, model, elected_at) values ('${NODE}', 'tiny-3b', '2026-01-01');
  insert into api_key (id, account_id, name, reference, secret_hash, created_at)
    values ('${KEY}', '${BUILDER}', 'k', 'abcdefghijkl', decode(repeat('ff', 32), 'hex'), '2026-01-01');
  select ledger_transfer('${newId()}', 'grant', '${HOST}', 9000, 'earned');`;

/** A gateway's database session, and its journal of changes. */
interface Session {
  query: (text: string, values?: unknown[]) => Promise<pg.QueryResult>;
  journal: string[];
}

/** A journal with these lines. Lines that are added to it are appended to `added`. */
const journalOf = (added: string[], ...texts: string[][]) => ({
  add: (entry: JournalEntry) => void (entry.kind === "change" && added.push(entry.text)),
  async *read() {
    for (const one of texts) yield { entries: one.map((text) => ({ kind: "change" as const, text })), unread: 0 };
  },
});

export type LostChangesRig = Awaited<ReturnType<typeof openLostChangesRig>>;

export async function openLostChangesRig() {
  const [lost, now] = await Promise.all([openTestDatabase(), openTestDatabase()]);
  const clients: pg.Client[] = [];
  const { rows } = await now.pool.query(
    "select distinct tgrelid::regclass::text as name from pg_trigger where tgname like 'journal_change%' order by 1",
  );
  const tables: string[] = rows.map(({ name }) => name);
  for (const { pool } of [lost, now]) await pool.query(KEPT);

  const contents = async ({ pool }: TestDatabase): Promise<Record<string, unknown[]>> => {
    const found: Record<string, unknown[]> = {};
    for (const table of [...tables, "ledger_account", "ledger_reserve", "key_budget"]) {
      // Leaves out the position and time of transfers, because entering a transfer again in the copy gives it later
      // ones.
      const moments = table === "transfer" ? "{position,at}" : "{}";
      const { rows } = await pool.query(`select to_jsonb(t) - '${moments}'::text[] as row from ${table} t order by 1`);
      found[table] = rows.map(({ row }) => row);
    }
    return found;
  };

  const rig = {
    /** The database with the changes. */
    lost,
    /** The database into which they are entered. */
    now,
    /** Connections that end with the test. */
    clients,
    /** The lines that the latest re-entry added to its journal. */
    added: [] as string[],
    /** Whether the latest re-entry left no change that waits. */
    isComplete: false,
    async gateway(): Promise<Session> {
      const client = new pg.Client(clientConfig(lost.connection, "test", CHANGE_NOTICES_STARTUP_OPTION));
      clients.push(client);
      await client.connect();
      const journal: string[] = [];
      watchCommittedChanges(client, (change) => journal.push(change));
      return { query: (text, values) => client.query(text, values), journal };
    },
    async enter(journals: string[][], isLast = true, nowMs = Date.now()): Promise<LostCommitsReentryResult> {
      rig.added = [];
      const into = createEmptyReentryResult();
      const client = await now.pool.connect();
      try {
        const journal = journalOf(rig.added, ...journals);
        const { isComplete } = await reenterLostChanges({ client, journal, nowMs, isLast, lostSince: 0 }, into);
        rig.isComplete = isComplete;
      } finally {
        client.release();
      }
      return into;
    },
    async assertSame(): Promise<void> {
      const [found, expected] = [await contents(now), await contents(lost)];
      for (const table of Object.keys(expected)) assert.deepEqual(found[table], expected[table], table);
      assert.deepEqual(
        (await checkLedger(now.pool)).filter(({ differences }) => differences.length > 0),
        [],
      );
    },
    async close(): Promise<void> {
      for (const client of clients) await client.end();
      await lost.close();
      await now.close();
    },
  };
  return rig;
}
