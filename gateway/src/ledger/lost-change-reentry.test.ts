/**
 * Changes are made in one database, recorded in gateways' journals, and entered into a copy that lacks them. Afterwards
 * both databases have the same rows.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { seededRandom } from "../base/testing.ts";
import { CHANGE_NOTICES_STARTUP_OPTION, joinChangeParts, watchCommittedChanges } from "../db/change-notices.ts";
import { nameBroadcastConnection } from "../db/connected-programs.ts";
import { clientConfig } from "../db/pool.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "./check.ts";
import type { JournalEntry } from "./journal-lines.ts";
import {
  CHANGE_REENTRY_AGE_MS_MAX,
  createEmptyReentryResult,
  type LostCommitsReentryResult,
  pruneChangeIds,
  reenterLostChanges,
} from "./lost-commit-reentry.ts";
import { newId } from "./testing.ts";

const [BUILDER, HOST, NODE, OWNER, MEMBER, KEY] = [1, 2, 3, 4, 5, 6].map(
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

describe("re-entering changes that a failover lost", () => {
  let lost: TestDatabase;
  let now: TestDatabase;
  let clients: pg.Client[];
  let tables: string[];
  /** The lines that the latest re-entry added to its journal. */
  let added: string[];
  /** Whether the latest re-entry left no change that waits. */
  let isComplete: boolean;
  before(async () => {
    [lost, now] = await Promise.all([openTestDatabase(), openTestDatabase()]);
    clients = [];
    const { rows } = await now.pool.query(
      "select distinct tgrelid::regclass::text as name from pg_trigger where tgname like 'journal_change%' order by 1",
    );
    tables = rows.map(({ name }) => name);
    for (const { pool } of [lost, now]) await pool.query(KEPT);
  });
  after(async () => {
    for (const client of clients) await client.end();
    await lost.close();
    await now.close();
  });

  const gateway = async (): Promise<Session> => {
    const client = new pg.Client(clientConfig(lost.connection, "test", CHANGE_NOTICES_STARTUP_OPTION));
    clients.push(client);
    await client.connect();
    const journal: string[] = [];
    watchCommittedChanges(client, (change) => journal.push(change));
    return { query: (text, values) => client.query(text, values), journal };
  };
  const enter = async (journals: string[][], isLast = true, nowMs = Date.now()): Promise<LostCommitsReentryResult> => {
    added = [];
    const into = createEmptyReentryResult();
    const client = await now.pool.connect();
    try {
      ({ isComplete } = await reenterLostChanges(
        { client, journal: journalOf(added, ...journals), nowMs, isLast, lostSince: 0 },
        into,
      ));
    } finally {
      client.release();
    }
    return into;
  };
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
  const assertSame = async (): Promise<void> => {
    const [found, expected] = [await contents(now), await contents(lost)];
    for (const table of Object.keys(expected)) assert.deepEqual(found[table], expected[table], table);
    assert.deepEqual(
      (await checkLedger(now.pool)).filter(({ differences }) => differences.length > 0),
      [],
    );
  };
  /** Makes changes in one database, enters them into the other, and compares both. */
  const redo = async (...statements: (string | [string, unknown[]])[]): Promise<LostCommitsReentryResult> => {
    const one = await gateway();
    for (const statement of statements) {
      const [text, values] = typeof statement === "string" ? [statement, []] : statement;
      await one.query(text, values);
    }
    const first = await enter([one.journal], false);
    const entered = await enter([one.journal]);
    assert.deepEqual(entered.notEntered, []);
    await assertSame();
    assert.deepEqual(await enter([one.journal]), createEmptyReentryResult(), "a second time nothing is missing");
    for (const [table, count] of Object.entries(first.entered))
      entered.entered[table] = (entered.entered[table] ?? 0) + count;
    return entered;
  };

  test("restores an account with its owner, its team and their invitations", async () => {
    const [account, invited] = [newId(), newId()];
    await redo(
      `begin`,
      [`insert into account (id, kind, name) values ($1, 'builder', 'new')`, [account]],
      [`insert into ledger_account (id, kind) values ($1, 'builder')`, [account]],
      [`insert into account_owner (identity_id, account_id) values ($1, $2)`, [OWNER, account]],
      `commit`,
      [
        `insert into account_invitation (id, account_id, email, role, token_hash, invited_by, expires_at) values ($1, $2, 'x@a.example', 'member', decode(repeat('00', 32), 'hex'), $3, '2027-01-01')`,
        [invited, account, OWNER],
      ],
      [`update account_member set role = 'billing' where identity_id = $1`, [MEMBER]],
      [`delete from account_member where identity_id = $1`, [MEMBER]],
      [`update account set suspended_at = now() where id = $1`, [account]],
    );
  });

  test("restores keys with their budgets and revocations", async () => {
    const key = newId();
    await redo(
      [
        `insert into api_key (id, account_id, name, reference, secret_hash, models) values ($1, $2, 'new', 'bbbbbbbbbbbb', decode(repeat('01', 32), 'hex'), '{a,b}')`,
        [key, BUILDER],
      ],
      // 9007199254740993 is not exact as a JavaScript number.
      [`select key_budget_set($2, $1, 9007199254740993, null)`, [key, BUILDER]],
      [`update api_key set name = 'other', last_used_at = null where id = $1`, [key]],
      [`update api_key set revoked_at = now() where id = $1`, [KEY]],
    );
  });

  test("restores purchases, refunds and disputes with the money they moved", async () => {
    const [checkout, bought, back] = [newId(), newId(), newId()];
    await redo(
      [
        `insert into payment_checkout (id, account_id, pack, amount, live, provider_session) values ($1, $2, 'p', 9007199254740993, false, 's1')`,
        [checkout, BUILDER],
      ],
      `begin`,
      [`update payment_checkout set state = 'paid', provider_payment = 'pi_1' where id = $1`, [checkout]],
      [
        `insert into payment_event (id, provider_event, type, occurred_at, outcome, checkout_id) values ($1, 'evt_1', 't', now(), 'applied', $2)`,
        [newId(), checkout],
      ],
      [`select ledger_transfer($1, 'purchase', $2, 9007199254740993, 'bought')`, [bought, BUILDER]],
      [
        `insert into payment_move (checkout_id, ordinal, kind, amount, transfer_id) values ($1, 1, 'purchase', 9007199254740993, $2)`,
        [checkout, bought],
      ],
      `commit`,
      [`select ledger_transfer($1, 'refund', $2, 7, 'given back')`, [back, BUILDER]],
    );
  });

  test("restores payouts with the money they moved, set-offs and withheld shares", async () => {
    const batch = newId();
    const entered = await redo(
      [`select ledger_transfer($1, 'dispute', $2, 9007199254742000, 'lost')`, [newId(), BUILDER]],
      [`insert into account_owner (identity_id, account_id) values ($1, $2)`, [OWNER, HOST]],
      [`select payout_create($1, 'note', 'op', 1, 0)`, [batch]],
      [`select payout_paid($1, 'op')`, [batch]],
      [`select ledger_pay_check($1, $2, 5)`, [newId(), HOST]],
    );
    assert.ok((entered.entered["transfer"] ?? 0) >= 3);
    assert.equal(entered.entered["payout_setoff"], 1);
  });

  test("restores nodes, their elections (chosen models), their quarantine and release", async () => {
    const node = newId();
    await redo(
      [`select node_register($1, $2, 'new', '{"gpu": "x"}', 'agent', 10)`, [node, HOST]],
      [`insert into node_election (node_id, model) values ($1, 'tiny-3b')`, [node]],
      [`delete from node_election where node_id = $1`, [NODE]],
      [`update node set state = 'quarantined' where id = $1`, [NODE]],
      [
        `insert into node_quarantine (id, node_id, reason, evidence, by) values ($1, $2, 'canary', '{"a": [1]}', 'platform')`,
        [newId(), NODE],
      ],
      [`update node_quarantine set released_at = now(), released_by = 'op' where node_id = $1`, [NODE]],
      [`update node set state = 'retired' where id = $1`, [NODE]],
    );
  });

  test("restores sessions, second factors, operators and their actions", async () => {
    const [session, act] = [newId(), newId()];
    await redo(
      [
        `insert into identity_session (id, identity_id, token, expires_at) values ($1, $2, 'a token', '2027-01-01')`,
        [session, OWNER],
      ],
      [`update identity set operator = true where id = $1`, [OWNER]],
      [`insert into operator_action (id, operator, action, subject) values ($1, 'op', 'a', 's')`, [act]],
      [`update operator_action set outcome = 'done' where id = $1`, [act]],
      [`delete from identity_session where id = $1`, [session]],
      [`insert into notification_settings (account_id, muted) values ($1, '{}')`, [BUILDER]],
    );
  });

  test("does not restore changes that were rolled back", async () => {
    const one = await gateway();
    await one.query("begin");
    await one.query("update account set name = 'never' where id = $1", [BUILDER]);
    await one.query("rollback");
    await assert.rejects(one.query("update account set name = '' where id = $1", [BUILDER]));
    await one.query("begin");
    await one.query("update account set name = 'never' where id = $1", [BUILDER]);
    await assert.rejects(one.query("select 1 / 0"));
    await one.query("commit");
    assert.deepEqual(one.journal, []);
  });

  test("gives the same result in whichever order gateways enter their journals", async () => {
    const random = seededRandom(7);
    for (let round = 0; round < 12; round++) {
      const gateways = [await gateway(), await gateway(), await gateway()];
      const [account, key] = [newId(), newId()];
      const steps: [string, unknown[]][] = [
        ["insert into account (id, kind, name) values ($1, 'builder', 'one')", [account]],
        ["insert into ledger_account (id, kind) values ($1, 'builder') on conflict do nothing", [account]],
        ["insert into account_owner (identity_id, account_id) values ($1, $2)", [OWNER, account]],
        ["update account set name = 'two' where id = $1", [account]],
        [
          "insert into api_key (id, account_id, name, reference, secret_hash) values ($1, $2, 'k', $3, decode(repeat('02', 32), 'hex'))",
          [key, account, key.slice(-12)],
        ],
        ["update account set name = 'one' where id = $1", [account]],
        ["update api_key set models = '{a}', name = 'l' where id = $1", [key]],
        ["delete from account_owner where account_id = $1", [account]],
        ["insert into account_owner (identity_id, account_id) values ($1, $2)", [MEMBER, account]],
        ["update api_key set revoked_at = now() where id = $1", [key]],
      ];
      for (const [text, values] of steps) await gateways[random.below(3)]?.query(text, values);
      const first = random.below(3);
      const order = [...gateways.slice(first), ...gateways.slice(0, first)];
      for (const { journal } of order) await enter([journal], false);
      for (const { journal } of order) await enter([journal]);
      for (const { journal } of order) assert.deepEqual((await enter([journal])).notEntered, []);
      await assertSame();
    }
  });

  test("enters a change once when several gateways recorded it from the same command", async () => {
    const journal: string[] = [];
    const listener = new pg.Client(clientConfig(lost.connection, nameBroadcastConnection()));
    clients.push(listener);
    await listener.connect();
    const put = joinChangeParts((change) => journal.push(change));
    const heard = Promise.withResolvers<void>();
    listener.on("notification", ({ payload = "" }) => {
      if (payload === "end") heard.resolve();
      else if (payload.startsWith("change ")) put(payload.slice("change ".length));
    });
    await listener.query("listen tollgate");
    // This change is sent in several notifications, and contains characters of several bytes.
    await lost.pool.query("update node set hardware = jsonb_build_object('text', repeat('ü€', 3000)) where id = $1", [
      NODE,
    ]);
    await lost.pool.query("notify tollgate, 'end'");
    await heard.promise;
    assert.equal(journal.length, 1);
    assert.deepEqual((await enter([journal, journal])).entered, { node: 1 });
    await assertSame();
  });

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

  test("skips and lists a row that was changed again after the failover", async () => {
    const one = await gateway();
    await one.query("update account set name = 'lost' where id = $1", [HOST]);
    await one.query("update api_key set name = 'lost' where id = $1", [KEY]);
    await now.pool.query("update account set name = 'newer' where id = $1", [HOST]);
    const { entered, notEntered } = await enter([one.journal]);
    assert.deepEqual(entered, { api_key: 1 });
    assert.equal(notEntered.length, 1);
    assert.match(notEntered[0]?.reason ?? "", /account: name of .* was changed since/);
    await lost.pool.query("update account set name = 'newer' where id = $1", [HOST]);
  });

  test("enters all other changes while a row is locked, and that row's change afterwards", async () => {
    const one = await gateway();
    await one.query("update node set name = 'of a locked row' where id = $1", [NODE]);
    await one.query("update api_key set name = 'of a free row' where id = $1", [KEY]);
    const session = await now.pool.connect();
    try {
      await session.query("begin");
      await session.query("select from node where id = $1 for update", [NODE]);
      const { entered, notEntered } = await enter([one.journal]);
      assert.deepEqual(entered, { api_key: 1 });
      assert.match(notEntered[0]?.reason ?? "", /^node: .*lock.*; it is tried again$/);
      assert.equal(isComplete, false);
    } finally {
      await session.query("rollback");
      session.release();
    }
    assert.deepEqual(await enter([one.journal]), { entered: { node: 1 }, notEntered: [] });
    assert.equal(isComplete, true);
  });

  test("lists a payment that exceeds the account's balance, and a change that is too old", async () => {
    const one = await gateway();
    const poor = newId();
    for (const { pool } of [lost, now]) {
      await pool.query("insert into account (id, kind, name, created_at) values ($1, 'host', 'p', '2026-01-01')", [
        poor,
      ]);
      await pool.query("insert into ledger_account (id, kind) values ($1, 'host')", [poor]);
    }
    await lost.pool.query("update ledger_account set balance = 5 where id = $1", [poor]);
    await one.query("select ledger_transfer($1, 'payout', $2, 5, 'p')", [newId(), poor]);
    assert.deepEqual((await enter([one.journal], false)).notEntered, [], "the lost requests come first");
    assert.match(
      (await enter([one.journal])).notEntered[0]?.reason ?? "",
      /transfer: the account has less than it takes/,
    );
    const late = await gateway();
    await late.query("update api_key set name = 'late' where id = $1", [KEY]);
    // One millisecond more, because the database's clock has microseconds and is rounded down here.
    const [old] = (await enter([late.journal], true, Date.now() + CHANGE_REENTRY_AGE_MS_MAX + 1)).notEntered;
    assert.equal(old?.reason, "older than 7 days");
  });

  test("journals both entered and waiting changes again, so that another failover cannot lose them", async () => {
    const one = await gateway();
    await one.query("update node set name = 'again' where id = $1", [NODE]);
    await enter([one.journal], false);
    assert.deepEqual(added, one.journal);
    const waiting = await gateway();
    const account = newId();
    await lost.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'unknown here')", [account]);
    await waiting.query("update account set name = 'renamed' where id = $1", [account]);
    assert.equal((await enter([waiting.journal])).notEntered.length, 1);
    assert.deepEqual(added, waiting.journal);
    await lost.pool.query("delete from account where id = $1", [account]);
  });

  test("retries a failed change after another gateway has entered the row that it needs, and deletes it from the failure list", async () => {
    const [one, other] = [await gateway(), await gateway()];
    const account = newId();
    await one.query("insert into account (id, kind, name) values ($1, 'builder', 'x')", [account]);
    await other.query("update account set suspended_at = now() where id = $1", [account]);
    const early = await enter([other.journal]);
    assert.match(early.notEntered[0]?.reason ?? "", /does not exist/);
    const epoch = newId();
    await now.pool.query(
      "insert into ledger_history (epoch, system, timeline, position, reason) values ($1, '1', 2, 0, 'failover')",
      [epoch],
    );
    await now.pool.query(
      "insert into history_loss (epoch, gateway, positions, entered, not_entered) values ($1, 'other', 1, '{}', $2)",
      [epoch, JSON.stringify(early.notEntered)],
    );
    assert.deepEqual((await enter([one.journal])).entered, { account: 2 });
    const { rows } = await now.pool.query("select not_entered from history_loss");
    assert.deepEqual(rows, [{ not_entered: [] }]);
    const suspended = await now.pool.query("select from account where id = $1 and suspended_at is not null", [account]);
    assert.equal(suspended.rowCount, 1);
  });

  test("remembers the IDs of entered changes for 8 days", async () => {
    await now.pool.query("insert into history_change (id, at) values ($1, now() - interval '9 days')", [newId()]);
    const { rows: before } = await now.pool.query("select count(*)::int as ids from history_change");
    await pruneChangeIds(now.pool);
    const { rows } = await now.pool.query("select count(*)::int as ids from history_change");
    assert.equal(before[0].ids - rows[0].ids, 1);
  });

  test("moves money once for a payment event that the provider delivered again", async () => {
    const one = await gateway();
    const event = (id: Uuid): [string, unknown[]] => [
      "insert into payment_event (id, provider_event, type, occurred_at, outcome) values ($1, 'evt_twice', 't', now(), 'applied')",
      [id],
    ];
    const moved = "select ledger_transfer($1, 'purchase', $2, 11, 'bought')";
    await one.query("begin");
    await one.query(...event(newId()));
    await one.query(moved, [newId(), BUILDER]);
    await one.query("commit");
    await now.pool.query(...event(newId()));
    const { rows: before } = await now.pool.query("select balance from ledger_account where id = $1", [BUILDER]);
    assert.match((await enter([one.journal])).notEntered[0]?.reason ?? "", /payment_event: duplicate key/);
    const { rows } = await now.pool.query("select balance from ledger_account where id = $1", [BUILDER]);
    assert.deepEqual(rows, before);
  });
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
    "gateway_process",
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
