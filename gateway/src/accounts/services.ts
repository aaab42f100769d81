/** Opens the accounts and identities that the HTTP routes use. */
import type { Accounts } from "./accounts.ts";
import type { Identities } from "./identities.ts";

export interface AccountServices {
  accounts: Accounts;
  identities: Identities;
}
