/** Single API keys, as operators handle them. */
import { z } from "zod";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import { routes } from "../route.ts";
import { Count, Id, listOf, sampleId, sampleList } from "../values.ts";
import { ApiKey, LimitsInForce, sampleKey } from "./keys.ts";

export const ACCOUNT_PATH = { id: "The account's id, `acc_…`." };
export const NO_ACCOUNT = refusal("not_found", "No such account.");

/** More than any key will ever need, and no more than its record can hold. */
const LIMIT_MAX = 999_999_999;
const Limit = z
  .int("must be a whole number or null")
  .min(0, "must be 0 or more")
  .refine((limit) => limit <= LIMIT_MAX, `must be ${LIMIT_MAX} or less`)
  .nullable()
  .default(null);
export const Limits = z.object({ requests_per_minute: Limit, tokens_per_minute: Limit, in_flight: Limit });

const OwnLimit = Count.nullable();
const ownAndDefault = {
  own_limits: z
    .strictObject({ requests_per_minute: OwnLimit, tokens_per_minute: OwnLimit, in_flight: OwnLimit })
    .describe("What an operator set for this key; null where the platform's limit holds."),
  default_limits: LimitsInForce.describe("The platform's limits."),
};
const PlatformKey = z.strictObject({ ...ApiKey.shape, ...ownAndDefault }).describe("A key as operators see it.");
const PlatformKeyList = listOf(PlatformKey);
const KeyLimits = z.strictObject({
  object: z.literal("key_limits"),
  id: Id("key"),
  limits: LimitsInForce.describe("What holds for the key now."),
  ...ownAndDefault,
});

export const answers = { PlatformKey, PlatformKeyList, KeyLimits };

export const requests = {
  KeyLimitsRequest: {
    fields: Limits,
    words: {
      requests_per_minute:
        "null, or not named: the platform's limit, here and below. At most 999999999, here and below.",
      tokens_per_minute: "Prompt and output together.",
      in_flight: "Requests at the same time.",
    },
  },
};

const sampleLimits = {
  limits: { ...sampleKey.limits, requests_per_minute: 6000 },
  own_limits: { requests_per_minute: 6000, tokens_per_minute: null, in_flight: null },
  default_limits: sampleKey.limits,
};

export const operatorKeyRoutes = routes({
  listAccountKeys: {
    at: "GET /console/api/operator/accounts/{id}/keys",
    summary: "List an account's API keys",
    description:
      "Those that work, then those that were revoked, each the newest first. Which of their limits are their own is said beside.",
    guard: "operator",
    path: ACCOUNT_PATH,
    query: PageQuery,
    answer: {
      description: "The keys, without their secrets.",
      json: PlatformKeyList,
      example: sampleList({ ...sampleKey, ...sampleLimits }),
    },
    faults: [NO_ACCOUNT, ...codes("invalid_cursor")],
  },
  setKeyLimits: {
    at: "PUT /console/api/operator/keys/{id}/limits",
    summary: "Set the limits of one API key",
    description: "All three are set: what is null or not named goes back to the platform's limit.",
    guard: "operator",
    path: { id: "The key's id, `key_…`." },
    body: { fields: Limits, example: { requests_per_minute: 6000 } },
    answer: {
      description: "What was set, and what holds now.",
      json: KeyLimits,
      example: { object: "key_limits", id: sampleId("key"), ...sampleLimits },
    },
    faults: [refusal("not_found", "No such key, or it is revoked.")],
  },
});
