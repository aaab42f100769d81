/**
 * Memory for large bodies: so much for the gateway, and so much of it for one payer, so that no one can take it all. A body
 * takes its share before it is read and gives it back when nothing of it is held any more.
 */
interface BodyBudgetOptions {
  gatewayBytesMax: number;
  payerBytesMax: number;
}

export interface BodyBudget {
  /** A share of nothing yet. `payer` is whoever is answerable for the body: an account, an identity. */
  open(payer: string): BudgetShare;
  /** What is taken now. */
  readonly bytes: number;
}

export interface BudgetShare {
  /** Makes the share so large, or leaves it as it is and says that there is no room. Smaller always fits. */
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
