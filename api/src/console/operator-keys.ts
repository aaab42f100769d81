/** Operators' routes for single API keys. */
import { z } from "zod";
import { Count, Id, makeListSchema, makeSampleId, sampleList } from "../common-schemas.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import { ApiKey, EffectiveKeyLimits, sampleKey } from "./keys.ts";

export const ACCOUNT_PATH_PARAMETER = { id: "The account ID, `acc_…`." };
export const ACCOUNT_NOT_FOUND = refusal("not_found", "No such account.");

/** Higher than any key needs, and within the range of the database's integer column. */
const LIMIT_MAX = 999_999_999;
const Limit = z
  .int("must be a whole number or null")
  .min(0, "must be 0 or more")
  .refine((limit) => limit <= LIMIT_MAX, `must be ${LIMIT_MAX} or less`)
  .nullable()
  .default(null);
export const KeyLimitsFields = z.object({ requests_per_minute: Limit, tokens_per_minute: Limit, in_flight: Limit });

const OwnLimit = Count.nullable();
const ownAndDefault = {
  own_limits: z
    .strictObject({ requests_per_minute: OwnLimit, tokens_per_minute: OwnLimit, in_flight: OwnLimit })
    .describe("Limits that an operator set for this key; null where the platform's limit applies."),
  default_limits: EffectiveKeyLimits.describe("The platform's default limits."),
};
const PlatformKey = z.strictObject({ ...ApiKey.shape, ...ownAndDefault }).describe("A key with operator details.");
const PlatformKeyList = makeListSchema(PlatformKey);
const KeyLimits = z.strictObject({
  object: z.literal("key_limits"),
  id: Id("key"),
  limits: EffectiveKeyLimits.describe("The limits in force."),
  ...ownAndDefault,
});

export const operatorKeysResponseSchemas = { PlatformKey, PlatformKeyList, KeyLimits };

export const operatorKeysRequestSchemas = {
  KeyLimitsRequest: {
    fields: KeyLimitsFields,
    words: {
      requests_per_minute:
        "null or absent: the platform's limit. At most 999999999. The same applies to the other two limits.",
      tokens_per_minute: "Prompt and output tokens together.",
      in_flight: "Requests in flight.",
    },
  },
};

const sampleLimits = {
  limits: { ...sampleKey.limits, requests_per_minute: 6000 },
  own_limits: { requests_per_minute: 6000, tokens_per_minute: null, in_flight: null },
  default_limits: sampleKey.limits,
};

export const operatorKeyRoutes = declareRoutes({
  listAccountKeys: {
    at: "GET /console/api/operator/accounts/{id}/keys",
    summary: "List an account's API keys",
    description: "Active keys, then revoked ones, each newest first, with the limits that operators set.",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    query: PageQuery,
    answer: {
      description: "The keys, without their secrets.",
      json: PlatformKeyList,
      example: sampleList({ ...sampleKey, ...sampleLimits }),
    },
    faults: [ACCOUNT_NOT_FOUND, ...refusalsOfCodes("invalid_cursor")],
  },
  setKeyLimits: {
    at: "PUT /console/api/operator/keys/{id}/limits",
    summary: "Set the limits of one API key",
    description: "Sets all three limits. A limit that is null or absent returns to the platform's.",
    guard: "operator",
    path: { id: "The key ID, `key_…`." },
    body: { fields: KeyLimitsFields, example: { requests_per_minute: 6000 } },
    answer: {
      description: "The operator's limits and the limits in force.",
      json: KeyLimits,
      example: { object: "key_limits", id: makeSampleId("key"), ...sampleLimits },
    },
    faults: [refusal("not_found", "No such key, or it is revoked.")],
  },
});
