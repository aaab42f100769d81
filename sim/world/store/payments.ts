/**
 * The payments in the simulated database, and the statements of `payments/process-payment-events.ts`, which run in transactions. Each
 * transaction works on a copy that replaces the tables on commit, together with its transfers. Transactions run one at
 * a time: the real locks are finer, but lead to the same possible orders.
 */
import type { Uuid } from "../../../gateway/src/base/ids.ts";
import type { LedgerModel } from "./ledger-model.ts";

interface Checkout {
  id: Uuid;
  accountId: Uuid;
  pack: string;
  amount: bigint;
  session: string;
  payment: string | null;
  state: string;
}

interface Reversal {
  payment: string;
  kind: string;
  amount: bigint;
  status: string;
  asOf: Date;
}

/** The tables that each transaction copies. */
export class PaymentTables {
  checkouts = new Map<Uuid, Checkout>();
  /** The refunded sum of each payment, as reported by the provider. */
  refunded = new Map<string, bigint>();
  reversals = new Map<string, Reversal>();
  moves: { checkout: Uuid; kind: string; amount: bigint }[] = [];
  /** How often each of the provider's events arrived. */
  events = new Map<string, number>();
}

type Values = readonly unknown[];
type Rows = Record<string, unknown>[];

/** One transaction's copy of the tables. */
export class PaymentDraft {
  readonly #tables: PaymentTables;
  readonly #ledgerModel: LedgerModel;
  readonly #draft: PaymentTables;
  readonly #transfers: [Uuid, string, Uuid, bigint][] = [];

  constructor(tables: PaymentTables, ledgerModel: LedgerModel) {
    this.#tables = tables;
    this.#ledgerModel = ledgerModel;
    this.#draft = structuredClone(tables);
  }

  answer(text: string, values: Values): Rows {
    const found = STATEMENTS.find(([pattern]) => pattern.test(text));
    if (found !== undefined) return found[1](this.#draft, values);
    if (!text.startsWith("select ledger_transfer("))
      throw new Error(`the simulated store does not know this statement of a transaction: ${text}`);
    const [id, kind, account, amount] = values as [Uuid, string, Uuid, string];
    if (!this.#ledgerModel.accounts.has(account)) return [{ code: -2 }];
    if (this.#ledgerModel.transfers.has(id) || this.#transfers.some(([known]) => known === id)) return [{ code: 2 }];
    this.#transfers.push([id, kind, account, BigInt(amount)]);
    return [{ code: 1 }];
  }

  commit(): void {
    const { checkouts, refunded, reversals, moves, events } = this.#draft;
    // Keeps checkouts that others opened during the transaction.
    for (const [id, checkout] of checkouts) this.#tables.checkouts.set(id, checkout);
    Object.assign(this.#tables, { refunded, reversals, moves, events });
    for (const transfer of this.#transfers) this.#ledgerModel.transfer(...transfer);
  }
}

const STATEMENTS: [RegExp, (draft: PaymentTables, values: Values) => Rows][] = [
  [/^set local|^select from payment /, () => []],
  [
    /^insert into payment \(id\)/,
    ({ refunded }, [id]) => {
      refunded.set(id as string, refunded.get(id as string) ?? 0n);
      return [];
    },
  ],
  [/where provider_session = /, ({ checkouts }, [by]) => checkoutRows(checkouts, ({ session }) => session === by)],
  [/where provider_payment = /, ({ checkouts }, [by]) => checkoutRows(checkouts, ({ payment }) => payment === by)],
  [
    /^update payment_checkout set state/,
    ({ checkouts }, [id, state, payment]) => {
      const checkout = checkouts.get(id as Uuid) as Checkout;
      Object.assign(checkout, { state, payment });
      return [];
    },
  ],
  [
    /^update payment set refunded/,
    ({ refunded }, [id, total]) => {
      const known = refunded.get(id as string) ?? 0n;
      const told = BigInt(total as string);
      refunded.set(id as string, told > known ? told : known);
      return [];
    },
  ],
  [
    /from payment_reversal where id = /,
    ({ reversals }, [id]) =>
      [reversals.get(id as string)].flatMap((one) => (one === undefined ? [] : [reversalRow(one)])),
  ],
  [
    /from payment_reversal where payment_id = /,
    ({ reversals }, [payment]) =>
      [...reversals.values()].filter((one) => one.payment === payment).map((one) => reversalRow(one)),
  ],
  [
    /^insert into payment_reversal/,
    ({ reversals }, [id, payment, kind, amount, status, asOf]) => {
      const told = { payment, kind, amount: BigInt(amount as string), status, asOf } as Reversal;
      reversals.set(id as string, told);
      return [];
    },
  ],
  [
    /^select refunded from payment /,
    ({ refunded }, [id]) => (refunded.has(id as string) ? [{ refunded: refunded.get(id as string) }] : []),
  ],
  [
    /from payment_move where checkout_id = /,
    ({ moves }, [checkout]) => {
      const sums = new Map<string, { kind: string; count: number; amount: bigint }>();
      for (const { kind, amount } of moves.filter((move) => move.checkout === checkout)) {
        const sum = sums.get(kind) ?? { kind, count: 0, amount: 0n };
        sums.set(kind, { kind, count: sum.count + 1, amount: sum.amount + amount });
      }
      return [...sums.values()];
    },
  ],
  [
    /^insert into payment_move/,
    ({ moves }, [checkout, , kind, amount]) => {
      moves.push({ checkout: checkout as Uuid, kind: kind as string, amount: BigInt(amount as string) });
      return [];
    },
  ],
  [
    /^insert into payment_event/,
    ({ events }, [, event]) => {
      events.set(event as string, (events.get(event as string) ?? 0) + 1);
      return [];
    },
  ],
];

const checkoutRows = (checkouts: Map<Uuid, Checkout>, is: (checkout: Checkout) => boolean): Rows =>
  [...checkouts.values()].filter(is).map(({ session: _, ...row }) => row);

const reversalRow = ({ payment: _, ...row }: Reversal): Record<string, unknown> => row;
