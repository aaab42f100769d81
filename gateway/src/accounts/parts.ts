/** Accounts and identities as a part for routes. */
import type { Accounts } from "./accounts.ts";
import type { Identities } from "./identities.ts";

export interface AccountParts {
  accounts: Accounts;
  identities: Identities;
}
