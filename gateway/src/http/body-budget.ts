/**
 * Limits the memory for large request bodies, per gateway and per payer. A request reserves memory before its body is
 * read, and releases it when the body is no longer needed.
 */
interface BodyBudgetOptions {
  gatewayBytesMax: number;
  payerBytesMax: number;
}

export interface BodyBudget {
  /** Opens a share of 0 bytes. `payer` is the account or identity that sent the body. */
  open(payer: string): BudgetShare;
  /** The number of reserved bytes. */
  readonly bytes: number;
}

export interface BudgetShare {
  /** Resizes the share. Returns false and changes nothing if there is not enough memory; shrinking always succeeds. */
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
