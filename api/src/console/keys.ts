/** A builder's API keys. */
import { z } from "zod";
import { OPEN_KEYS_MAX } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import { isPlain, PLAIN_RULE } from "../plain-text.ts";
import { routes } from "../route.ts";
import { Count, Id, listOf, Money, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";

export const SecretName = z.object({
  name: z
    .string("must be a string")
    .trim()
    .min(1, "must not be empty")
    .max(200, "must have at most 200 characters")
    .refine(isPlain, PLAIN_RULE),
});

export const tooManySecrets = (max: number, what: string): string =>
  `This account has ${max} ${what}, and may have no more. Revoke one first.`;

export const LimitsInForce = z.strictObject({ requests_per_minute: Count, tokens_per_minute: Count, in_flight: Count });

export const ApiKey = z.strictObject({
  id: Id("key"),
  object: z.literal("api_key"),
  name: z.string().describe("Spend is attributed by it."),
  start: z.string().describe("How the key begins: enough to recognise it, and no secret."),
  limits: LimitsInForce.describe("What holds for this key: the platform's limits, or those that an operator set."),
  spend_this_month: z.strictObject({ requests: Count, charge_micro: Money }).describe("Of the calendar month, in UTC."),
  created_at: Time,
  last_used_at: Time.nullable(),
  revoked_at: Time.nullable(),
});

export const ApiKeyList = listOf(ApiKey);

const NewApiKey = z.strictObject({
  ...ApiKey.shape,
  secret: z.string().describe("The key itself, `tsk_live_<reference>_<secret>`. Shown here and never again."),
});

export const answers = { ApiKey, ApiKeyList, NewApiKey };

export const requests = {
  NameRequest: { fields: SecretName, words: { name: "For people. Space around it is cut off." } },
};

export const sampleKey = {
  id: sampleId("key"),
  object: "api_key",
  name: "production",
  start: "tsk_live_4fJ2kQ9sZ0aB",
  limits: { requests_per_minute: 600, tokens_per_minute: 2_000_000, in_flight: 64 },
  spend_this_month: { requests: 1204, charge_micro: "9830.400000" },
  created_at: SAMPLE_TIME,
  last_used_at: SAMPLE_TIME + 3600,
  revoked_at: null,
};

const KEY_PATH = { id: "The key's id, `key_…`." };
const NO_KEY = refusal("not_found", "No such key.");

export const keyRoutes = routes({
  listKeys: {
    at: "GET /console/api/keys",
    summary: "List the API keys",
    description: "Those that work, then those that were revoked, each the newest first.",
    guard: "builder",
    query: PageQuery,
    answer: { description: "The keys, without their secrets.", json: ApiKeyList, example: sampleList(sampleKey) },
    faults: codes("invalid_cursor"),
  },
  createKey: {
    at: "POST /console/api/keys",
    summary: "Create an API key",
    description: "An account has at most 500 that work.",
    guard: "builder",
    needs: "work",
    body: { fields: SecretName, example: { name: "production" } },
    answer: {
      status: 201,
      description: "The key, with its secret: keep it now.",
      json: NewApiKey,
      example: { ...sampleKey, last_used_at: null, secret: `tsk_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}` },
    },
    faults: [refusal("limit_reached", tooManySecrets(OPEN_KEYS_MAX, "API keys"))],
  },
  renameKey: {
    at: "PATCH /console/api/keys/{id}",
    summary: "Rename an API key",
    description: "Requests that were made under the old name keep it in the history.",
    guard: "builder",
    needs: "work",
    path: KEY_PATH,
    body: { fields: SecretName, example: { name: "production" } },
    answer: { description: "The key.", json: ApiKey, example: sampleKey },
    faults: [NO_KEY],
  },
  revokeKey: {
    at: "DELETE /console/api/keys/{id}",
    summary: "Revoke an API key",
    description: "For good. Revoking what is revoked changes nothing and is no mistake.",
    guard: "builder",
    needs: "work",
    path: KEY_PATH,
    answer: {
      description: "The key.",
      json: ApiKey,
      example: { ...sampleKey, revoked_at: SAMPLE_TIME + 7200 },
    },
    faults: [NO_KEY],
  },
});
