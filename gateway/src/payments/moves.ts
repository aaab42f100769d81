/**
 * Moves money for a checkout and writes down that it did, in the caller's transaction. A move's transfer id follows from the
 * checkout and the move's number, so that the ledger itself would refuse to make one twice.
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import { publicId, type Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { pico } from "../base/money.ts";
import type { Checkout } from "./checkouts.ts";
import type { Move, MoveKind, Sums } from "./rules.ts";

const MOVED = 1;

export interface Made {
  count: number;
  sums: Sums;
}

export async function movesMade(client: pg.PoolClient, checkoutId: Uuid): Promise<Made> {
  const { rows } = await client.query<{ kind: MoveKind; count: string; amount: string }>(
    `select kind, count(*)::text as count, sum(amount)::text as amount
       from payment_move where checkout_id = $1 group by kind`,
    [checkoutId],
  );
  const sums: Sums = { purchase: pico(0n), refund: pico(0n), dispute: pico(0n) };
  for (const { kind, amount } of rows) sums[kind] = pico(BigInt(amount));
  return { count: rows.reduce((total, { count }) => total + Number(count), 0), sums };
}

/** The checkout is locked by the caller: its moves are numbered without gaps. */
export async function make(
  client: pg.PoolClient,
  checkout: Checkout,
  { moves, after }: { moves: Move[]; after: number },
): Promise<void> {
  for (const [i, { kind, amount }] of moves.entries()) {
    const ordinal = after + i + 1;
    const transferId = transferIdOf(checkout.id, ordinal);
    const { rows } = await client.query("select ledger_transfer($1, $2, $3, $4, $5) as code", [
      transferId,
      // What comes back is booked as bought again: purchases less refunds and disputes is what the buyer has paid.
      amount > 0n ? "purchase" : kind,
      checkout.accountId,
      (amount > 0n ? amount : -amount).toString(),
      reasonOf(checkout, { kind, amount }),
    ]);
    invariant(rows[0].code === MOVED, `transfer ${transferId} of checkout ${checkout.id} gave ${rows[0].code}`);
    await client.query(
      "insert into payment_move (checkout_id, ordinal, kind, amount, transfer_id) values ($1, $2, $3, $4, $5)",
      [checkout.id, ordinal, kind, amount.toString(), transferId],
    );
  }
}

/** A UUIDv7 with its checkout's time, and a hash of checkout and number where others have randomness. */
export function transferIdOf(checkoutId: Uuid, ordinal: number): Uuid {
  const hash = createHash("sha256").update(`${checkoutId}/${ordinal}`).digest("hex");
  const variant = "89ab".charAt(Number.parseInt(hash.charAt(3), 16) & 3);
  const tail = `7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
  return `${checkoutId.slice(0, 13)}-${tail}` as Uuid;
}

/** What the account's owner reads on the statement. */
function reasonOf({ id, pack }: Checkout, { kind, amount }: Move): string {
  const name = publicId("pay", id);
  if (kind === "purchase") return `${pack} bought (${name})`;
  if (amount < 0n) return kind === "refund" ? `refund of ${name}` : `dispute over ${name}`;
  return kind === "refund" ? `refund of ${name} did not go through` : `dispute over ${name} ended in your favour`;
}
