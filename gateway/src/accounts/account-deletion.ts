/**
 * Deletes an account in one transaction, and shows beforehand what would be deleted and what prevents it. The ledger
 * keeps what was used, earned and paid, under the account's ID. Names, labels and people are deleted.
 */
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { publicId } from "../base/ids.ts";
import { formatExactMicrodollars, type Pico } from "../base/money.ts";
import { ACCOUNT_KINDS } from "../base/stored-enumerations.ts";
import { ACCOUNT_TOPIC, sendBroadcast, TEAM_TOPIC } from "../db/broadcast.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { PAYOUT_METHODS_MIGRATION } from "./payout-methods.ts";
import { type Actor, lockAccountIfOwner, MEMBERS_SQL } from "./team-rows.ts";

/** The migration that adds the last of the tables and columns used here. */
export const ACCOUNT_DELETION_NEEDS_MIGRATION = PAYOUT_METHODS_MIGRATION;
/** How long a checkout page of the payment provider can be paid, in hours. */
const CHECKOUT_HOURS = 24;
const BATCH_ROWS = 1000;
const NAME = "Deleted account";
const KEY_NAME = "deleted";

const PlanRow = row({
  kind: z.enum(ACCOUNT_KINDS),
  balance: column.pico,
  inFlight: column.count,
  openPayouts: column.count,
  openPayments: column.count,
  quarantined: column.count,
  keys: column.count,
  nodes: column.count,
  people: column.count,
});

/** Why an account cannot be deleted now. */
type Blocker = { code: "account_owes" | "deletion_blocked"; why: string };

interface DeletionPlan extends z.infer<typeof PlanRow> {
  blockers: Blocker[];
}

/**
 * The members of the deleted account's team, and its revoked keys and tokens, which gateways must drop from their
 * caches.
 */
interface Deleted {
  people: string[];
  keys: Uuid[];
  tokens: Uuid[];
}

export interface AccountDeletion {
  plan(accountId: Uuid): Promise<DeletionPlan>;
  /** Deletes the account. If something prevents the deletion, returns the reason instead. */
  delete(accountId: Uuid, by: Actor): Promise<Deleted | Blocker | "role_required">;
  /** Removes names and labels from the request records of deleted accounts, in batches. */
  sweep(): Promise<void>;
}

const PLAN = `select a.kind, l.balance,
    (select count(*)::int from hold where account_id = $1) as "inFlight",
    (select count(*)::int from payout p join payout_batch b on b.id = p.batch_id
      where p.account_id = $1 and p.amount > 0 and b.paid_at is null) as "openPayouts",
    (select count(*)::int from payment_checkout
      where account_id = $1 and (state = 'pending'
         or state = 'open' and (pack = 'automatic' or created_at > now() - interval '${CHECKOUT_HOURS} hours'))) as "openPayments",
    (select count(*)::int from node n join node_quarantine q on q.node_id = n.id
      where n.account_id = $1 and q.released_at is null) as quarantined,
    (select count(*)::int from api_key where account_id = $1 and revoked_at is null)
      + (select count(*)::int from host_token where account_id = $1 and revoked_at is null) as keys,
    (select count(*)::int from node where account_id = $1 and state <> 'retired') as nodes,
    (select count(*)::int from ${MEMBERS_SQL} p where p.account_id = $1) as people
  from account a join ledger_account l on l.id = a.id where a.id = $1`;

/**
 * Tables whose rows are deleted with the account: they contain data about people, or names that people chose. No sum is
 * computed from them.
 */
const FORGOTTEN = [
  ...["account_owner", "account_member", "account_invitation", "account_event", "credit_alert", "auto_topup"],
  "payout_method",
  ...["notification", "notification_settings", "refused_hour", "refused_last", "unfunded_hour"],
];

export function openAccountDeletion({ pool, newId }: { pool: pg.Pool; newId: NewId }): AccountDeletion {
  return {
    plan: (accountId) => planOf(pool, accountId),

    async delete(accountId, by) {
      const outcome = await inTransaction(pool, async (client) => {
        if (!(await lockAccountIfOwner(client, accountId, by))) return "role_required";
        // Locks the ledger account. Concurrent requests, payouts and payments wait for this lock, and then find the
        // account suspended.
        await client.query("select from ledger_account where id = $1 for update", [accountId]);
        const plan = await planOf(client, accountId);
        const [blocker] = plan.blockers;
        if (blocker !== undefined) return blocker;
        const emails = await queryRows(
          client,
          Address,
          `select i.email from ${MEMBERS_SQL} p join identity i on i.id = p.identity_id where p.account_id = $1 order by 1`,
          [accountId],
        );
        await client.query(
          `update account set name = $2, deleted_at = now(), suspended_at = coalesce(suspended_at, now()) where id = $1`,
          [accountId, NAME],
        );
        const [keys, tokens] = [
          await revokeAll(client, "api_key", accountId),
          await revokeAll(client, "host_token", accountId),
        ];
        await client.query(
          `update node set state = 'retired', name = id::text, hardware = '{}',
                           state_changed_at = case when state = 'retired' then state_changed_at else now() end
            where account_id = $1`,
          [accountId],
        );
        for (const table of FORGOTTEN) await client.query(`delete from ${table} where account_id = $1`, [accountId]);
        await client.query("update payout set paid_to = null where account_id = $1 and paid_to is not null", [
          accountId,
        ]);
        await client.query(
          `insert into operator_action (id, operator, action, subject, details, outcome) values ($1, $2, $3, $4, $5, 'done')`,
          [
            newId(),
            `owner ${publicId("usr", by.identityId)}`,
            "account.delete",
            publicId("acc", accountId),
            detailsOf(plan),
          ],
        );
        return { people: emails.map(({ email }) => email), keys, tokens };
      });
      if (typeof outcome === "object" && "people" in outcome) {
        for (const topic of [ACCOUNT_TOPIC, TEAM_TOPIC]) await sendBroadcast(pool, topic, accountId);
      }
      return outcome;
    },

    async sweep() {
      const text = "select id from account where deleted_at is not null and forgotten_at is null order by deleted_at";
      for (const { id } of await queryRows(pool, Id, text, [])) await forgetRequests(pool, id);
    },
  };
}

const Address = row({ email: z.string() });
const Id = row({ id: column.uuid });
const Label = row({ label: z.string() });
const Last = row({ last: column.uuid.nullable() });

/** Revokes all secrets of the account. Returns those that were active until now. */
async function revokeAll(client: pg.PoolClient, table: "api_key" | "host_token", accountId: Uuid): Promise<Uuid[]> {
  const open = await queryRows(client, Id, `select id from ${table} where account_id = $1 and revoked_at is null`, [
    accountId,
  ]);
  const text = `update ${table} set name = $2, revoked_at = coalesce(revoked_at, now()) where account_id = $1`;
  await client.query(text, [accountId, KEY_NAME]);
  return open.map(({ id }) => id);
}

async function planOf(db: pg.Pool | pg.PoolClient, accountId: Uuid): Promise<DeletionPlan> {
  const plan = await queryOne(db, PlanRow, PLAN, [accountId]);
  return { ...plan, blockers: blockersOf(plan) };
}

function blockersOf({ balance, inFlight, openPayouts, openPayments, quarantined }: z.infer<typeof PlanRow>): Blocker[] {
  const blocked = (is: boolean, why: string): Blocker[] => (is ? [{ code: "deletion_blocked", why }] : []);
  return [
    ...blocked(
      inFlight > 0,
      `The account has ${inFlight} ${inFlight === 1 ? "request" : "requests"} in flight. Wait until they end, then try again.`,
    ),
    ...(balance < 0n
      ? [
          {
            code: "account_owes",
            why: "The account's balance is negative. It can be deleted once the debt is paid.",
          } as const,
        ]
      : []),
    ...blocked(
      openPayments > 0,
      `A payment for this account is not finished. Wait until it is, or until ${CHECKOUT_HOURS} hours after its checkout page was opened.`,
    ),
    ...blocked(
      openPayouts > 0,
      "A payout to this account is being sent. Wait until the operator has marked it as paid.",
    ),
    ...blocked(
      quarantined > 0,
      "A node of this account is in quarantine. The account can be deleted once an operator has ended the quarantine.",
    ),
  ];
}

/** The entry's details for the audit log, without personal data. */
const detailsOf = ({ kind, balance, keys, nodes, people }: z.infer<typeof PlanRow>) => ({
  kind,
  given_up_micro: formatExactMicrodollars(balance as Pico),
  keys,
  nodes,
  people,
});

/**
 * Removes labels and key names from an account's requests. Sums and records agree after each batch. If a batch fails,
 * the next sweep continues.
 */
async function forgetRequests(pool: pg.Pool, accountId: Uuid): Promise<void> {
  for (;;) {
    const found = await queryRow(pool, Label, "select label from label_day where account_id = $1 limit 1", [accountId]);
    if (found === undefined) break;
    const values = [accountId, found.label];
    await inTransaction(pool, async (client) => {
      await client.query("update request set label = null where account_id = $1 and label = $2", values);
      await client.query("delete from label_day where account_id = $1 and label = $2", values);
    });
  }
  for (let last: Uuid | null = null; ; ) {
    const step: z.infer<typeof Last> = await queryOne(
      pool,
      Last,
      `with page as (select id from request where account_id = $1 and ($2::uuid is null or id > $2) order by id limit ${BATCH_ROWS}),
            done as (update request r set key_name = $3, client = '' from page
                      where r.id = page.id and r.account_id = $1 and (r.key_name <> $3 or r.client <> ''))
       select max(id::text)::uuid as last from page`,
      [accountId, last, KEY_NAME],
    );
    if (step.last === null) break;
    last = step.last;
  }
  await pool.query("update account set forgotten_at = now() where id = $1", [accountId]);
}
