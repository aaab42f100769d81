/** Accounts, as operators handle them: search, grant, suspend, restore. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { exactMicro, floorMicro, PICO_PER_MICRO, type Pico, pico } from "../../../base/money.ts";
import { fault, invalidRequest } from "../../../faults.ts";
import type { AccountEntry, Directory } from "../../../operators/directory.ts";
import { BALANCE_MAX, GRANT_MAX, grantCredit } from "../../../operators/grants.ts";
import { parseFields } from "../../fields.ts";
import { PageFields, page } from "../../lists/pages.ts";
import { isPlain, PLAIN_RULE } from "../../plain-text.ts";
import type { ConsoleRoute, Guards } from "../guards.ts";
import { seconds } from "../keys.ts";
import type { OperatorOptions } from "./options.ts";

export const SearchText = z.string().max(200, "must have at most 200 characters").refine(isPlain, PLAIN_RULE);
export const Search = z.object({
  ...PageFields,
  q: SearchText.optional(),
  kind: z.enum(["builder", "host"], "must be builder or host").optional(),
});
export const Reason = z
  .string("must be a string")
  .trim()
  .min(1, "must say why")
  .max(200, "must have at most 200 characters")
  .refine(isPlain, PLAIN_RULE);
export const ReasonFields = z.object({ reason: Reason });
export const Grant = z.object({
  amount_micro: z.union([z.string(), z.int()], "must be whole microdollars"),
  reason: Reason,
});

/** Whole microdollars, as a number or as digits, up to a million dollars. */
export function microAmount(field: string, value: string | number): Pico {
  const digits = String(value);
  const amount = /^\d{1,15}$/.test(digits) ? BigInt(digits) * PICO_PER_MICRO : 0n;
  if (amount < 1n || amount > GRANT_MAX) {
    throw invalidRequest(field, `${field} must be a whole number of microdollars from 1 to ${floorMicro(GRANT_MAX)}`);
  }
  return pico(amount);
}

export async function findAccount(directory: Directory, text: string | undefined): Promise<AccountEntry> {
  const id = parseId("acc", text ?? "");
  const account = id === undefined ? undefined : await directory.find(id);
  if (account === undefined) throw fault("not_found", { message: "No such account." });
  return account;
}

export function accountRoutes(route: ConsoleRoute, guards: Guards, options: OperatorOptions): void {
  const { audit, directory, ledger, cursors } = options;
  const find = (text: string | undefined): Promise<AccountEntry> => findAccount(directory, text);

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
  route("POST", "/console/api/operator/accounts/:id/grant", guards.operator, async ({ who, params, fields, json }) => {
    const { id, kind } = await find(params.id);
    const { amount_micro, reason } = await fields(Grant);
    const amount = microAmount("amount_micro", amount_micro);
    if (kind !== "builder") throw fault("not_a_builder", { message: "Credit is granted to builder accounts only." });
    const act = {
      operator: who.email,
      action: "account.grant",
      subject: publicId("acc", id),
      details: { amount_micro: exactMicro(amount), reason },
    };
    await audit.record(act, async () => {
      const granted = await grantCredit(ledger, { id: options.newId(), accountId: id, amount, reason });
      if (granted === "balance_too_large") throw tooMuch();
    });
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
}

const tooMuch = (): Error =>
  invalidRequest(
    "amount_micro",
    `amount_micro must not bring the balance above ${floorMicro(BALANCE_MAX)} microdollars`,
  );

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
