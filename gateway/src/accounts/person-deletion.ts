/**
 * Deletes a person at their own request: the identity, its sessions and its memberships. The person's own accounts must
 * be deleted or handed over first.
 */
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { publicId } from "../base/ids.ts";
import { sendBroadcast, TEAM_TOPIC } from "../db/broadcast.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { Actor } from "./team-rows.ts";

/** Replaces the person's email address in the events of other people's teams. */
const SOMEBODY = "deleted person";

const Place = row({ id: column.uuid, name: z.string(), isOwner: z.boolean(), isOnly: z.boolean(), owes: z.boolean() });
const Operator = row({ id: column.uuid });

interface LeaveRefusal {
  code: "last_owner" | "account_owes" | "deletion_blocked";
  why: string;
}

export interface PersonDeletion {
  /** Deletes the person, or returns the reason for a refusal. */
  leave(who: Actor & { operator: boolean }): Promise<"gone" | LeaveRefusal>;
}

export function openPersonDeletion({ pool, newId }: { pool: pg.Pool; newId: NewId }): PersonDeletion {
  return {
    async leave({ identityId, email, operator }) {
      const left: Uuid[] = [];
      const outcome = await inTransaction(pool, async (client) => {
        if (operator) {
          // Locks all operators, so that concurrent deletions leave at least one, as in `removeOperator`.
          const text = "select id from identity where operator order by id for update";
          const operators = await queryRows(client, Operator, text, []);
          if (operators.length <= 1) return ONLY_OPERATOR;
        }
        const places = await placesOf(client, identityId);
        const refusal = refusalOf(places);
        if (refusal !== undefined) return refusal;
        // Replaces the address in other teams' events about this person. In events by this person, the database sets
        // the author to null.
        await client.query("update account_event set email = $2 where email = $1", [email, SOMEBODY]);
        await client.query("delete from account_invitation where email = $1", [email]);
        await client.query("delete from account_owner where identity_id = $1", [identityId]);
        await client.query("delete from account_member where identity_id = $1", [identityId]);
        await client.query("delete from identity_verification where value = $1", [identityId]);
        await client.query("delete from identity where id = $1", [identityId]);
        const id = publicId("usr", identityId);
        await client.query(
          `insert into operator_action (id, operator, action, subject, outcome) values ($1, $2, 'person.delete', $3, 'done')`,
          [newId(), operator ? email : `person ${id}`, id],
        );
        left.push(...places.map((place) => place.id));
        return "gone";
      });
      for (const accountId of left) await sendBroadcast(pool, TEAM_TOPIC, accountId);
      return outcome;
    },
  };
}

/**
 * Lists all accounts of the person. Locks them in order, so that concurrent changes of teams run one after the other.
 */
async function placesOf(client: pg.PoolClient, identityId: Uuid): Promise<z.infer<typeof Place>[]> {
  await client.query(
    `select from account where id in (select account_id from account_owner where identity_id = $1
                                      union select account_id from account_member where identity_id = $1)
      order by id for no key update`,
    [identityId],
  );
  return await queryRows(
    client,
    Place,
    `select a.id, a.name, o.identity_id is not null as "isOwner", l.balance < 0 as owes,
            not exists (select from account_owner other where other.account_id = a.id and other.identity_id <> $1) as "isOnly"
       from account a join ledger_account l on l.id = a.id
       left join account_owner o on o.account_id = a.id and o.identity_id = $1
      where o.identity_id is not null or exists (select from account_member m where m.account_id = a.id and m.identity_id = $1)
      order by a.id`,
    [identityId],
  );
}

const ONLY_OPERATOR: LeaveRefusal = {
  code: "deletion_blocked",
  why: "You are the only operator. Create another one first: tollgate admin operator create",
};

function refusalOf(places: z.infer<typeof Place>[]): LeaveRefusal | undefined {
  const only = places.filter(({ isOwner, isOnly }) => isOwner && isOnly);
  if (only.length > 0) {
    const names = only.map(({ name }) => `“${name}”`).join(", ");
    return {
      code: "last_owner",
      why: `You are the only owner of ${names}. Delete ${only.length === 1 ? "it" : "them"} first, or invite another owner.`,
    };
  }
  const owing = places.find(({ isOwner, owes }) => isOwner && owes);
  if (owing === undefined) return undefined;
  return {
    code: "account_owes",
    why: `The balance of “${owing.name}” is negative. Its owners cannot leave until it is paid.`,
  };
}
