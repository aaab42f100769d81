/** Accounts, as operators handle them: search, grant, suspend, restore, and the limits of single keys. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { exactMicro, PICO_PER_MICRO, type Pico, pico } from "../../../base/money.ts";
import { fault, invalidRequest } from "../../../faults.ts";
import type { AccountEntry } from "../../../operators/directory.ts";
import { parseFields } from "../../fields.ts";
import { PageFields, page } from "../../lists/pages.ts";
import { isPlain, PLAIN_RULE } from "../../plain-text.ts";
import type { ConsoleRoute, Guards } from "../guards.ts";
import { keyObject, seconds } from "../keys.ts";
import type { OperatorOptions } from "./options.ts";

export const Search = z.object({
  ...PageFields,
  q: z.string().max(200, "must have at most 200 characters").refine(isPlain, PLAIN_RULE).optional(),
  kind: z.enum(["builder", "host"], "must be builder or host").optional(),
});
export const Reason = z
  .string("must be a string")
  .trim()
  .min(1, "must say why")
  .max(200, "must have at most 200 characters")
  .refine(isPlain, PLAIN_RULE);
export const ReasonFields = z.object({ reason: Reason });
const GRANT_MICRO_MAX = 1_000_000_000_000n;
export const Grant = z.object({
  amount_micro: z.union([z.string(), z.int()], "must be whole microdollars"),
  reason: Reason,
});
/** More than any key will ever need, and no more than its record can hold. */
const LIMIT_MAX = 999_999_999;
const Limit = z
  .int("must be a whole number or null")
  .min(0, "must be 0 or more")
  .refine((limit) => limit <= LIMIT_MAX, `must be ${LIMIT_MAX} or less`)
  .nullable()
  .default(null);
export const Limits = z.object({ requests_per_minute: Limit, tokens_per_minute: Limit, in_flight: Limit });

/** Whole microdollars, as a number or as digits, up to a million dollars. */
export function microAmount(field: string, value: string | number, max = GRANT_MICRO_MAX): Pico {
  const digits = String(value);
  if (!/^\d{1,15}$/.test(digits) || BigInt(digits) < 1n || BigInt(digits) > max) {
    throw invalidRequest(field, `${field} must be a whole number of microdollars from 1 to ${max}`);
  }
  return pico(BigInt(digits) * PICO_PER_MICRO);
}

export function accountRoutes(route: ConsoleRoute, guards: Guards, options: OperatorOptions): void {
  const { audit, directory, ledger, apiKeys, cursors } = options;
  const find = async (text: string | undefined): Promise<AccountEntry> => {
    const id = parseId("acc", text ?? "");
    const account = id === undefined ? undefined : await directory.find(id);
    if (account === undefined) throw fault("not_found", { message: "No such account." });
    return account;
  };

  route("GET", "/console/api/operator/accounts", guards.operator, async ({ query, json }) => {
    const { cursor, limit, q, kind } = parseFields(Search, Object.fromEntries(query));
    json(
      await page({
        cursors,
        list: "accounts",
        cursor,
        limit,
        read: (before, max) => directory.search({ text: q, kind, before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: accountObject,
      }),
    );
  });
  route("GET", "/console/api/operator/accounts/:id", guards.operator, async ({ params, json }) =>
    json(accountObject(await find(params.id))),
  );
  route("GET", "/console/api/operator/accounts/:id/keys", guards.operator, async ({ params, json }) => {
    const { id } = await find(params.id);
    const data = (await apiKeys.list(id)).map((key) => keyObject(key, undefined));
    json({ object: "list", data, next_cursor: null });
  });
  route("POST", "/console/api/operator/accounts/:id/grant", guards.operator, async ({ who, params, fields, json }) => {
    const { id, kind } = await find(params.id);
    const { amount_micro, reason } = await fields(Grant);
    const amount = microAmount("amount_micro", amount_micro);
    if (kind !== "builder") throw fault("not_a_builder", { message: "Credit is granted to builder accounts only." });
    const transfer = options.newId();
    const details = { amount_micro: exactMicro(amount), reason };
    await audit.record({ operator: who.email, action: "account.grant", subject: publicId("acc", id), details }, () =>
      ledger.transfer({ id: transfer, kind: "grant", accountId: id, amount, reason }),
    );
    json(accountObject(await find(params.id)));
  });
  for (const [verb, suspended] of [
    ["suspend", true],
    ["restore", false],
  ] as const) {
    route(
      "POST",
      `/console/api/operator/accounts/:id/${verb}`,
      guards.operator,
      async ({ who, params, fields, json }) => {
        const { id } = await find(params.id);
        const { reason } = await fields(ReasonFields);
        const subject = publicId("acc", id);
        await audit.record({ operator: who.email, action: `account.${verb}`, subject, details: { reason } }, () =>
          directory.setSuspended(id, suspended),
        );
        json(accountObject(await find(params.id)));
      },
    );
  }
  route("PUT", "/console/api/operator/keys/:id/limits", guards.operator, async ({ who, params, fields, json }) => {
    const id = parseId("key", params.id ?? "");
    if (id === undefined) throw fault("not_found", { message: "No such key." });
    const limits = await fields(Limits);
    const { requests_per_minute: requestsPerMinute, tokens_per_minute: tokensPerMinute, in_flight: inFlight } = limits;
    const subject = publicId("key", id);
    await audit.record({ operator: who.email, action: "key.limits", subject, details: limits }, async () => {
      if (await apiKeys.setLimits(id, { requestsPerMinute, tokensPerMinute, inFlight })) return;
      throw fault("not_found", { message: "No such key, or it is revoked." });
    });
    json({ object: "key_limits", id: subject, ...limits });
  });
}

export function accountObject(account: AccountEntry): object {
  const { id, kind, name, owners, suspendedAt, createdAt, balance, held } = account;
  return {
    id: publicId("acc", id),
    object: "account",
    kind,
    name,
    owners,
    balance_micro: exactMicro(balance),
    held_micro: exactMicro(held),
    suspended_at: suspendedAt === null ? null : seconds(suspendedAt),
    created_at: seconds(createdAt),
  };
}
