/** Single API keys, as operators handle them. */
import { z } from "zod";
import { fault } from "../../../faults.ts";
import { Limits } from "../../console/operator/keys.ts";
import { SecretsQuery } from "../../console/secret-lists.ts";
import { codes } from "../fault-answers.ts";
import { Count, Id, listOf, sampleId, sampleList } from "../values.ts";
import type { ConsoleSpec } from "./access.ts";
import { ApiKey, LimitsInForce, sampleKey } from "./keys.ts";

const TAG = "Operators: accounts";
export const ACCOUNT_PATH = { id: "The account's id, `acc_…`." };
export const NO_ACCOUNT = fault("not_found", { message: "No such account." });

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

export const endpoints: ConsoleSpec[] = [
  {
    id: "listAccountKeys",
    at: "GET /console/api/operator/accounts/{id}/keys",
    tag: TAG,
    summary: "List an account's API keys",
    description:
      "Those that work, then those that were revoked, each the newest first. Which of their limits are their own is said beside.",
    guard: "operator",
    path: ACCOUNT_PATH,
    query: SecretsQuery,
    success: {
      description: "The keys, without their secrets.",
      json: PlatformKeyList,
      example: sampleList({ ...sampleKey, ...sampleLimits }),
    },
    faults: [NO_ACCOUNT, ...codes("invalid_cursor")],
  },
  {
    id: "setKeyLimits",
    at: "PUT /console/api/operator/keys/{id}/limits",
    tag: TAG,
    summary: "Set the limits of one API key",
    description: "All three are set: what is null or not named goes back to the platform's limit.",
    guard: "operator",
    path: { id: "The key's id, `key_…`." },
    body: { fields: Limits, example: { requests_per_minute: 6000 } },
    success: {
      description: "What was set, and what holds now.",
      json: KeyLimits,
      example: { object: "key_limits", id: sampleId("key"), ...sampleLimits },
    },
    faults: [fault("not_found", { message: "No such key, or it is revoked." })],
  },
];
