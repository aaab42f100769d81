/** The sets of values in base/stored-enumerations.ts equal those that the database's constraints allow. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ROLES } from "@tollgate/api/roles.ts";
import { z } from "zod";
import {
  ACCOUNT_KINDS,
  CHECKOUT_STATES,
  DATABASE_EPOCH_REASONS,
  DELIVERY_CHANNELS,
  DELIVERY_STATES,
  INCIDENT_CAUSES,
  INCIDENT_KINDS,
  INCIDENT_STATES,
  INSUFFICIENT_CREDIT_REASONS,
  MONTH_CLOSING_SUM_KINDS,
  NODE_STANDINGS,
  PAYMENT_EVENT_OUTCOMES,
  PAYMENT_TRANSFER_KINDS,
  PAYOUT_METHODS,
  PERFORMANCE_GRAINS,
  PERFORMANCE_SCOPES,
  REVERSAL_KINDS,
  SCRIPT_ACCESS,
  TEAM_ACTIONS,
  TOP_UP_FAILURES,
  TRANSFER_KINDS,
  WITHHELD_REASONS,
} from "../base/stored-enumerations.ts";
import { queryRows, row } from "./rows.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const WORDS: Record<string, readonly string[]> = {
  "account.kind": ACCOUNT_KINDS,
  "account_member.role": ROLES.filter((role) => role !== "owner"),
  "account_invitation.role": ROLES,
  "account_event.role": ROLES,
  "account_event.action": TEAM_ACTIONS,
  "identity_session.script_access": SCRIPT_ACCESS,
  "script_login.access": SCRIPT_ACCESS,
  "ledger_account.kind": ACCOUNT_KINDS,
  "ledger_closing.kind": MONTH_CLOSING_SUM_KINDS,
  "ledger_history.reason": DATABASE_EPOCH_REASONS,
  "transfer.kind": TRANSFER_KINDS,
  "incident.kind": INCIDENT_KINDS,
  "status_incident.state": INCIDENT_STATES,
  "status_incident.cause": INCIDENT_CAUSES,
  "node.state": NODE_STANDINGS,
  "payment_checkout.state": CHECKOUT_STATES,
  "payment_reversal.kind": REVERSAL_KINDS,
  "payment_move.kind": PAYMENT_TRANSFER_KINDS,
  "payment_event.outcome": PAYMENT_EVENT_OUTCOMES,
  "payout_method.kind": PAYOUT_METHODS,
  "auto_topup.failure": TOP_UP_FAILURES,
  "performance.scope": PERFORMANCE_SCOPES,
  "performance.grain": PERFORMANCE_GRAINS,
  "unfunded_hour.reason": INSUFFICIENT_CREDIT_REASONS,
  "withheld_share.reason": WITHHELD_REASONS,
  "node_presence.grain": PERFORMANCE_GRAINS,
  "notification_delivery.channel": DELIVERY_CHANNELS,
  "notification_delivery.state": DELIVERY_STATES,
};

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

test("the values that a column's constraint allows equal its set in base/stored-enumerations.ts", async () => {
  const Constraint = row({ column: z.string(), definition: z.string() });
  // Reads constraints on a single column of a table. Those of partitions are left out.
  const constraints = await queryRows(
    database.pool,
    Constraint,
    `select format('%s.%s', t.relname, a.attname) as column, pg_get_constraintdef(c.oid) as definition
       from pg_constraint c join pg_class t on t.oid = c.conrelid
       join pg_attribute a on a.attrelid = t.oid and a.attnum = c.conkey[1]
      where c.contype = 'c' and cardinality(c.conkey) = 1 and not t.relispartition
        and t.relnamespace = 'public'::regnamespace and pg_get_constraintdef(c.oid) ~ '= ANY' and a.atttypid = 'text'::regtype
     union all
     select format('%s.%s', t.relname, a.attname), pg_get_constraintdef(c.oid)
       from pg_constraint c join pg_attribute a on a.atttypid = c.contypid join pg_class t on t.oid = a.attrelid
      where c.contypid <> 0 and t.relkind = 'r' and t.relnamespace = 'public'::regnamespace`,
  );
  const found = constraints.map(({ column, definition }) => [
    column,
    [...definition.matchAll(/'([^']*)'::text/g)].map(([, word]) => word).sort(),
  ]);
  const expected = Object.entries(WORDS).map(([column, words]) => [column, [...words].sort()]);
  assert.deepEqual(Object.fromEntries(found), Object.fromEntries(expected));
});
