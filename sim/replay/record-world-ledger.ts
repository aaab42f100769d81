/**
 * Records the ledger of a simulated world: the accounts at the beginning, every statement with its answer, and the
 * final tables.
 */
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { simulateWorld } from "../simulate.ts";
import type { TokenCounting } from "../token-counting.ts";
import type { LedgerEntry } from "../world/store/ledger-model.ts";
import type { CommittedStatements } from "../world/store/simulated-database.ts";
import type { World } from "../world/world.ts";
import type { Plan } from "../world-plan.ts";

export interface Recording {
  seed: number;
  accounts: { id: Uuid; kind: string }[];
  /** The credit granted to accounts at the start. */
  credits: LedgerEntry[];
  keys: {
    id: Uuid;
    accountId: Uuid;
    reference: string;
    hash: Buffer;
    budget: { day: bigint | null; month: bigint | null };
  }[];
  /** For each host account, the builder accounts with the same owner. */
  ownedWith: [host: Uuid, builders: Uuid[]][];
  checkouts: { id: Uuid; accountId: Uuid; pack: string; amount: bigint; session: string }[];
  done: CommittedStatements[];
  end: FinalLedger;
}

/**
 * The final content of the ledger. Each list is sorted by a key of its own, so that simulated and real database give
 * the same order.
 */
export interface FinalLedger {
  accounts: { id: string; balance: bigint; held: bigint; overdrawn: boolean; granted: bigint }[];
  requests: {
    id: string;
    outcome: string;
    charge: bigint;
    short: bigint;
    share: bigint;
    granted: bigint;
    host: string | null;
  }[];
  entries: { operation: string; account: string; kind: string; amount: bigint }[];
  holds: { id: string; expiresMs: number }[];
}

/**
 * The platform's own accounts, which have no row in the table of accounts: their balances are the sums of their
 * entries.
 */
const OWN = new Set(["platform", "outside", "reserve"]);

export async function recordWorldLedger(plan: Plan, tokens: TokenCounting): Promise<Recording> {
  const done: CommittedStatements[] = [];
  let world: World | undefined;
  let start: Pick<Recording, "accounts" | "credits" | "keys" | "ownedWith"> | undefined;
  // Ignores broken rules, which `npm run sim` reports: such a world ends early, and its ledger can be replayed like any
  // other.
  await simulateWorld(plan, tokens, {
    begun(begun) {
      world = begun;
      start = startOf(begun);
      begun.store.recorded = (one) => void done.push(one);
    },
  });
  if (world === undefined || start === undefined) throw new Error("the world did not begin");
  const checkouts = [...world.store.tables.payments.checkouts.values()];
  return { seed: plan.seed, ...start, checkouts, done, end: leftIn(world) };
}

function startOf({ ledgerModel, store }: World): Pick<Recording, "accounts" | "credits" | "keys" | "ownedWith"> {
  const people = [...ledgerModel.accounts.values()].filter(({ kind }) => !OWN.has(kind));
  const isPerson = new Set(people.map(({ id }) => id));
  return {
    accounts: people.map(({ id, kind }) => ({ id, kind })),
    credits: ledgerModel.entries.filter(({ account }) => isPerson.has(account)),
    keys: store.tables.keys.map(({ id, accountId, reference, hash }) => {
      const { dayMax = null, monthMax = null } = ledgerModel.budgets.get(id) ?? {};
      return { id, accountId, reference, hash, budget: { day: dayMax, month: monthMax } };
    }),
    ownedWith: [...store.tables.payouts.ownedWith],
  };
}

function leftIn({ ledgerModel }: World): FinalLedger {
  return {
    accounts: [...ledgerModel.accounts.values()].map(({ id, kind, balance, held, overdrawn, granted }) => {
      // May exceed the balance: PostgreSQL and the ledger model cap `granted` only when credit is transferred or spent.
      return { id, balance, held, overdrawn: kind === "builder" && overdrawn, granted };
    }),
    requests: [...ledgerModel.requests.values()].map(({ id, outcome, charge, short, share, granted, host }) => ({
      ...{ id, outcome, charge, short, share, granted, host },
    })),
    entries: ledgerModel.entries.map(({ operation, account, kind, amount }) => ({ operation, account, kind, amount })),
    holds: [...ledgerModel.holds.values()].map(({ id, expiresMs }) => ({ id, expiresMs })),
  };
}
