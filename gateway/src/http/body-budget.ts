/**
 * Limits the memory of large bodies, per gateway and per payer. A body reserves its share before it is read and releases it when
 * nothing of it is held.
 */
interface BodyBudgetOptions {
  gatewayBytesMax: number;
  payerBytesMax: number;
}

export interface BodyBudget {
  /** An empty share. `payer` is the account or identity responsible for the body. */
  open(payer: string): BudgetShare;
  /** The reserved bytes. */
  readonly bytes: number;
}

export interface BudgetShare {
  /** Resizes the share, or returns false and leaves it when there is no room. Shrinking always succeeds. */
  resize(bytes: number): boolean;
}

export function openBodyBudget({ gatewayBytesMax, payerBytesMax }: BodyBudgetOptions): BodyBudget {
  let taken = 0;
  const byPayer = new Map<string, number>();
  return {
    get bytes() {
      return taken;
    },
    open(payer) {
      let own = 0;
      return {
        resize(bytes) {
          const more = bytes - own;
          const payers = byPayer.get(payer) ?? 0;
          if (more > 0 && (taken + more > gatewayBytesMax || payers + more > payerBytesMax)) return false;
          own = bytes;
          taken += more;
          if (payers + more === 0) byPayer.delete(payer);
          else byPayer.set(payer, payers + more);
          return true;
        },
      };
    },
  };
}
