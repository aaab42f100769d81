/**
 * Changes that a failover lost are entered again from gateways' journals. Afterwards the database has the same rows as
 * the one that made them.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { seededRandom } from "../base/testing.ts";
import { joinChangeParts } from "../db/change-notices.ts";
import { nameBroadcastConnection } from "../db/connected-programs.ts";
import { clientConfig } from "../db/pool.ts";
import { createEmptyReentryResult, type LostCommitsReentryResult } from "./lost-commit-reentry.ts";
import { newId } from "./testing.ts";
import {
  BUILDER,
  HOST,
  KEY,
  type LostChangesRig,
  MEMBER,
  NODE,
  OWNER,
  openLostChangesRig,
} from "./testing-lost-changes.ts";

describe("re-entering changes that a failover lost", () => {
  let rig: LostChangesRig;
  before(async () => {
    rig = await openLostChangesRig();
  });
  after(() => rig.close());

  /** Makes changes in one database, enters them into the other, and compares both. */
  const redo = async (...statements: (string | [string, unknown[]])[]): Promise<LostCommitsReentryResult> => {
    const one = await rig.gateway();
    for (const statement of statements) {
      const [text, values] = typeof statement === "string" ? [statement, []] : statement;
      await one.query(text, values);
    }
    const first = await rig.enter([one.journal], false);
    const entered = await rig.enter([one.journal]);
    assert.deepEqual(entered.notEntered, []);
    await rig.assertSame();
    assert.deepEqual(await rig.enter([one.journal]), createEmptyReentryResult(), "a second time nothing is missing");
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
    const one = await rig.gateway();
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
      const gateways = [await rig.gateway(), await rig.gateway(), await rig.gateway()];
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
      for (const { journal } of order) await rig.enter([journal], false);
      for (const { journal } of order) await rig.enter([journal]);
      for (const { journal } of order) assert.deepEqual((await rig.enter([journal])).notEntered, []);
      await rig.assertSame();
    }
  });

  test("enters a change once when several gateways recorded it from the same command", async () => {
    const journal: string[] = [];
    const listener = new pg.Client(clientConfig(rig.lost.connection, nameBroadcastConnection()));
    rig.clients.push(listener);
    await listener.connect();
    const put = joinChangeParts((change) => journal.push(change));
    const heard = Promise.withResolvers<void>();
    listener.on("notification", ({ payload = "" }) => {
      if (payload === "end") heard.resolve();
      else if (payload.startsWith("change ")) put(payload.slice("change ".length));
    });
    await listener.query("listen tollgate");
    // This change is sent in several notifications, and contains characters of several bytes.
    await rig.lost.pool.query(
      "update node set hardware = jsonb_build_object('text', repeat('ü€', 3000)) where id = $1",
      [NODE],
    );
    await rig.lost.pool.query("notify tollgate, 'end'");
    await heard.promise;
    assert.equal(journal.length, 1);
    assert.deepEqual((await rig.enter([journal, journal])).entered, { node: 1 });
    await rig.assertSame();
  });
});
