/** Accounts, the people who sign in to them, and the email they get, as routes use them. */
import type { Accounts } from "./accounts.ts";
import type { Identities } from "./identities.ts";
import type { Outbox } from "./outbox.ts";

export interface AccountParts {
  accounts: Accounts;
  identities: Identities;
  outbox: Outbox;
}
