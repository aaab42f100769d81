/** Operators' routes for accounts: search, grant, suspend, restore, and the limits of API keys. */
import type { operatorAccountRoutes, PlatformAccount } from "@tollgate/api/console/operator-accounts.ts";
import type { z } from "zod";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { formatExactMicrodollars, PICO_PER_MICRO, type Pico, pico, roundDownToMicro } from "../../../base/money.ts";
import { startOfDay, startOfMonth, toUnixSeconds } from "../../../base/time.ts";
import { type Fault, ruleViolation } from "../../../faults.ts";
import { listPage } from "../../../http/lists/list-pages.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { ApiKeyRecord } from "../../../keys/api-keys.ts";
import type { LimitOverrides } from "../../../keys/secret-store.ts";
import type { KeyServices } from "../../../keys/services.ts";
import type { LedgerServices } from "../../../ledger/services.ts";
import { computeEffectiveLimits, DEFAULT_KEY_LIMITS } from "../../../limits/limits.ts";
import type { AccountDirectory, AccountEntry } from "../../../operators/account-directory.ts";
import { BALANCE_MAX, GRANT_MAX, grantCredit } from "../../../operators/credit-grants.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { SiteServices } from "../../services.ts";
import { keyObject, limitsObject } from "../keys.ts";
import { readSecretsPage } from "../secrets-page.ts";

export function operatorAccountHandlers(
  parts: Pick<OperatorServices, "audit" | "directory"> &
    Pick<LedgerServices, "ledger"> &
    Pick<KeyServices, "apiKeys"> &
    Pick<SiteServices, "cursors" | "newId" | "now">,
): Handlers<typeof operatorAccountRoutes> {
  const { audit, directory, ledger, apiKeys, cursors, newId, now } = parts;
  const find = accountFinder(directory);
  const setSuspended =
    (verb: "suspend" | "restore"): Handlers<typeof operatorAccountRoutes>["suspendAccount"] =>
    async ({ who, params, body, refuse }) => {
      const { id, deletedAt } = await find(params.id, refuse);
      const { reason } = body();
      if (deletedAt !== null) throw refuse("account_deleted");
      const act = { operator: who.email, action: `account.${verb}`, subject: publicId("acc", id), details: { reason } };
      await audit.record(act, () => directory.setSuspended(id, verb === "suspend"));
      return accountObject(await find(params.id, refuse));
    };
  return {
    listAccounts: ({ query }) =>
      listPage({
        cursors,
        list: "accounts",
        query,
        read: (before, max) =>
          directory.search({ text: query.q, kind: query.kind, before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: accountObject,
      }),

    getAccount: async ({ params, refuse }) => accountObject(await find(params.id, refuse)),

    async grantCredit({ who, params, body, refuse }) {
      const { id, kind, deletedAt } = await find(params.id, refuse);
      const { amount_micro, reason } = body();
      const amount = parseMicroAmount("amount_micro", amount_micro);
      if (kind !== "builder") throw refuse("not_a_builder");
      if (deletedAt !== null) throw refuse("account_deleted");
      const act = {
        operator: who.email,
        action: "account.grant",
        subject: publicId("acc", id),
        details: { amount_micro: formatExactMicrodollars(amount), reason },
      };
      await audit.record(act, async () => {
        const granted = await grantCredit(ledger, { id: newId(), accountId: id, amount, reason });
        if (granted === "balance_too_large") throw tooMuch();
      });
      return accountObject(await find(params.id, refuse));
    },

    suspendAccount: setSuspended("suspend"),
    restoreAccount: setSuspended("restore"),

    async listAccountKeys({ params, query, refuse }) {
      const { id: accountId } = await find(params.id, refuse);
      const [today, month] = await Promise.all([
        directory.spendByKey(accountId, startOfDay(now())),
        directory.spendByKey(accountId, startOfMonth(now())),
      ]);
      const show = (key: ApiKeyRecord) => ({ ...keyObject(key, { today, month }), ...ownAndDefault(key.limits) });
      return readSecretsPage({ secrets: apiKeys, cursors, list: `operator keys ${accountId}`, accountId, query, show });
    },

    async setKeyLimits({ who, params, body, refuse }) {
      const id = parseId("key", params.id);
      if (id === undefined) throw refuse("not_found");
      const limits = body();
      const {
        requests_per_minute: requestsPerMinute,
        tokens_per_minute: tokensPerMinute,
        in_flight: inFlight,
      } = limits;
      const overrides = { requestsPerMinute, tokensPerMinute, inFlight };
      const subject = publicId("key", id);
      const act = { operator: who.email, action: "key.limits", subject, details: limits };
      const own = await audit.record(act, async () => {
        const set = await apiKeys.setLimits(id, overrides);
        if (set === undefined) throw refuse("not_found");
        return set;
      });
      const inForce = limitsObject(computeEffectiveLimits({ overrides, own }));
      return { object: "key_limits", id: subject, limits: inForce, ...ownAndDefault(overrides) };
    },
  };
}

/** Finds the account whose ID is in the URL's path. */
export const accountFinder =
  (directory: AccountDirectory) =>
  async (text: string, refuse: (code: "not_found") => Fault): Promise<AccountEntry> => {
    const id = parseId("acc", text);
    const account = id === undefined ? undefined : await directory.find(id);
    if (account === undefined) throw refuse("not_found");
    return account;
  };

/** An amount of microdollars, given as a whole number or as digits, of at most a million dollars. */
export function parseMicroAmount(field: string, value: string | number): Pico {
  const digits = String(value);
  const amount = /^\d{1,15}$/.test(digits) ? BigInt(digits) * PICO_PER_MICRO : 0n;
  if (amount < 1n || amount > GRANT_MAX) {
    throw ruleViolation(field, `must be a whole number of microdollars from 1 to ${roundDownToMicro(GRANT_MAX)}`);
  }
  return pico(amount);
}

const tooMuch = (): Error =>
  ruleViolation("amount_micro", `must not bring the balance above ${roundDownToMicro(BALANCE_MAX)} microdollars`);

function accountObject(account: AccountEntry): z.input<typeof PlatformAccount> {
  const { id, kind, name, owners, members, suspendedAt, deletedAt, createdAt, balance, held } = account;
  return {
    id: publicId("acc", id),
    object: "account",
    kind,
    name,
    owners,
    members,
    balance_micro: formatExactMicrodollars(balance),
    held_micro: formatExactMicrodollars(held),
    suspended_at: suspendedAt === null ? null : toUnixSeconds(suspendedAt),
    deleted_at: deletedAt === null ? null : toUnixSeconds(deletedAt),
    created_at: toUnixSeconds(createdAt),
  };
}

/** The limits set for this key (null where the default applies), and the platform's default limits. */
function ownAndDefault(overrides: LimitOverrides) {
  return {
    own_limits: limitsObject(overrides),
    default_limits: limitsObject(DEFAULT_KEY_LIMITS),
  };
}
