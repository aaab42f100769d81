/** Accounts and the people who sign in to them, as routes use them. */
import type { Accounts } from "./accounts.ts";
import type { Identities } from "./identities.ts";

export interface AccountParts {
  accounts: Accounts;
  identities: Identities;
}
