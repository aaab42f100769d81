/** Single API keys, as operators handle them: what they spent, what holds for them, and limits of their own. */
import { z } from "zod";
import { parseId, publicId } from "../../../base/ids.ts";
import { fault } from "../../../faults.ts";
import type { LimitOverrides, SecretRecord } from "../../../keys/keys.ts";
import { DEFAULT_LIMITS } from "../../../limits/limits.ts";
import type { ConsoleRoute, Guards } from "../guards.ts";
import { keyObject, limitsObject, startOfMonth } from "../keys.ts";
import { secretsPage } from "../secret-lists.ts";
import { findAccount } from "./accounts.ts";
import type { OperatorOptions } from "./options.ts";

/** More than any key will ever need, and no more than its record can hold. */
const LIMIT_MAX = 999_999_999;
const Limit = z
  .int("must be a whole number or null")
  .min(0, "must be 0 or more")
  .refine((limit) => limit <= LIMIT_MAX, `must be ${LIMIT_MAX} or less`)
  .nullable()
  .default(null);
export const Limits = z.object({ requests_per_minute: Limit, tokens_per_minute: Limit, in_flight: Limit });

export function keyRoutes(route: ConsoleRoute, guards: Guards, options: OperatorOptions): void {
  const { audit, directory, apiKeys, cursors, now } = options;

  route("GET", "/console/api/operator/accounts/:id/keys", guards.operator, async ({ params, query, json }) => {
    const { id: accountId } = await findAccount(directory, params.id);
    const spend = await directory.spendByKey(accountId, startOfMonth(now()));
    const show = (key: SecretRecord): object => ({
      ...keyObject(key, spend.get(key.id)),
      ...ownAndDefault(key.limits),
    });
    const list = `operator keys ${accountId}`;
    json(await secretsPage({ secrets: apiKeys, cursors, list, accountId, query, show }));
  });
  route("PUT", "/console/api/operator/keys/:id/limits", guards.operator, async ({ who, params, fields, json }) => {
    const id = parseId("key", params.id ?? "");
    if (id === undefined) throw fault("not_found", { message: "No such key." });
    const limits = await fields(Limits);
    const { requests_per_minute: requestsPerMinute, tokens_per_minute: tokensPerMinute, in_flight: inFlight } = limits;
    const overrides = { requestsPerMinute, tokensPerMinute, inFlight };
    const subject = publicId("key", id);
    await audit.record({ operator: who.email, action: "key.limits", subject, details: limits }, async () => {
      if (await apiKeys.setLimits(id, overrides)) return;
      throw fault("not_found", { message: "No such key, or it is revoked." });
    });
    json({ object: "key_limits", id: subject, limits: limitsObject(overrides), ...ownAndDefault(overrides) });
  });
}

/** Which of the limits were set for this key, null where the platform's holds; and the platform's. */
function ownAndDefault(overrides: LimitOverrides | null): object {
  return {
    own_limits: {
      requests_per_minute: overrides?.requestsPerMinute ?? null,
      tokens_per_minute: overrides?.tokensPerMinute ?? null,
      in_flight: overrides?.inFlight ?? null,
    },
    default_limits: limitsObject(DEFAULT_LIMITS),
  };
}
