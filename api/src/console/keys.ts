/** A builder's API keys. */
import { z } from "zod";
import { OPEN_KEYS_MAX } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import { isPlain, PLAIN_RULE } from "../plain-text.ts";
import { routes } from "../route.ts";
import { Count, Id, listOf, Money, MoneyField, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";

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

const OwnLimit = z.int("must be a whole number or null").min(0, "must be 0 or more").nullable().optional();
const OwnLimits = z
  .object(
    { requests_per_minute: OwnLimit, tokens_per_minute: OwnLimit, in_flight: OwnLimit },
    "must be an object or null",
  )
  .nullable();

/** What an owner sets for a key. What is not named stays as it is; null takes it away. */
const Settings = {
  budget_day_micro: MoneyField.nullable(),
  budget_month_micro: MoneyField.nullable(),
  expires_at: z
    .int("must be Unix time in seconds, or null")
    .max(253_402_300_799, "must be before the year 10000")
    .nullable(),
  models: z
    .array(z.string("must be a model's id"), "must be a list of models' ids, or null")
    .min(1, "must name one model or more, or be null")
    .max(200, "must name at most 200 models")
    .nullable(),
  limits: OwnLimits,
};
export const KeyFields = z.object({ ...SecretName.shape, ...z.object(Settings).partial().shape });
const KeyChangeFields = KeyFields.partial();
const KEEP_OLD_S_MAX = 30 * 24 * 60 * 60;
const RotateFields = z.object({
  keep_old_s: z
    .int("must be a whole number of seconds")
    .min(0, "must be 0 or more")
    .max(KEEP_OLD_S_MAX, `must be ${KEEP_OLD_S_MAX} or less`)
    .default(0),
});

export const LimitsInForce = z.strictObject({ requests_per_minute: Count, tokens_per_minute: Count, in_flight: Count });

const Spend = z.strictObject({ requests: Count, charge_micro: Money });

export const ApiKey = z.strictObject({
  id: Id("key"),
  object: z.literal("api_key"),
  name: z.string().describe("Spend is attributed by it."),
  start: z.string().describe("How the key begins: enough to recognise it, and no secret."),
  limits: LimitsInForce.describe("What holds for this key: the lowest of what its owner set and `limits_max`."),
  limits_set: z
    .strictObject({
      requests_per_minute: Count.nullable(),
      tokens_per_minute: Count.nullable(),
      in_flight: Count.nullable(),
    })
    .describe("What its owner set; null where nothing is."),
  limits_max: LimitsInForce.describe(
    "The platform's limits, or those that an operator set: the owner may go below them.",
  ),
  budget_day_micro: Money.nullable().describe("What the key may spend in a UTC day; null: no budget."),
  budget_month_micro: Money.nullable().describe("What the key may spend in a UTC month; null: no budget."),
  spend_today: Spend.describe("Of the calendar day, in UTC."),
  spend_this_month: Spend.describe("Of the calendar month, in UTC."),
  models: z.array(z.string()).nullable().describe("The models it may ask for; null: every one."),
  expires_at: Time.nullable().describe("It works until then."),
  old_secret_until: Time.nullable().describe("It was rotated, and the secret before this one works until then."),
  created_by: z
    .strictObject({ name: z.string(), email: z.string() })
    .nullable()
    .describe("Who made it; null where that is not known."),
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

const KEY_WORDS = {
  name: "For people. Space around it is cut off.",
  budget_day_micro: "What it may spend in a UTC day: microdollars as a decimal string, or null for no budget.",
  budget_month_micro: "The same for a UTC month.",
  expires_at: "It works until then, in Unix seconds; null: for good.",
  models: "The models it may ask for; null: every one.",
  limits:
    "Limits of its own, up to the key's `limits_max`. One that is not named stays as it is; null, for one or for all: none of its own.",
};

export const requests = {
  NameRequest: { fields: SecretName, words: { name: "For people. Space around it is cut off." } },
  KeyRequest: { fields: KeyFields, words: KEY_WORDS },
  KeyChangeRequest: { fields: KeyChangeFields, words: KEY_WORDS },
  RotateRequest: {
    fields: RotateFields,
    words: { keep_old_s: "For how long the old secret works beside the new one, up to 30 days." },
  },
};

export const sampleKey = {
  id: sampleId("key"),
  object: "api_key",
  name: "production",
  start: "tsk_live_4fJ2kQ9sZ0aB",
  limits: { requests_per_minute: 60, tokens_per_minute: 2_000_000, in_flight: 64 },
  limits_set: { requests_per_minute: 60, tokens_per_minute: null, in_flight: null },
  limits_max: { requests_per_minute: 600, tokens_per_minute: 2_000_000, in_flight: 64 },
  budget_day_micro: "2000000.000000",
  budget_month_micro: null,
  spend_today: { requests: 31, charge_micro: "253.100000" },
  spend_this_month: { requests: 1204, charge_micro: "9830.400000" },
  models: ["small-8b"],
  expires_at: null,
  old_secret_until: null,
  created_by: { name: "Ada", email: "ada@example.com" },
  created_at: SAMPLE_TIME,
  last_used_at: SAMPLE_TIME + 3600,
  revoked_at: null,
};

const SAMPLE_SECRET = `tsk_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}`;

const KEY_PATH = { id: "The key's id, `key_…`." };
const NO_KEY = refusal("not_found", "No such key.");
const TOO_MANY = refusal("limit_reached", tooManySecrets(OPEN_KEYS_MAX, "API keys"));

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
    description: "An account has at most 500 that work; those that expired do not count.",
    guard: "builder",
    needs: "work",
    body: { fields: KeyFields, example: { name: "production", budget_day_micro: "2000000", models: ["small-8b"] } },
    answer: {
      status: 201,
      description: "The key, with its secret: keep it now.",
      json: NewApiKey,
      example: { ...sampleKey, last_used_at: null, secret: SAMPLE_SECRET },
    },
    faults: [TOO_MANY],
  },
  getKey: {
    at: "GET /console/api/keys/{id}",
    summary: "Read an API key",
    guard: "builder",
    path: KEY_PATH,
    answer: { description: "The key.", json: ApiKey, example: sampleKey },
    faults: [NO_KEY],
  },
  changeKey: {
    at: "PATCH /console/api/keys/{id}",
    summary: "Change an API key",
    description:
      "What is not named stays as it is. Requests that were made under an old name keep it in the history. What is under way when a budget is set counts against it. A key that has expired and is given a later end counts among the 500 that work again.",
    guard: "builder",
    needs: "work",
    path: KEY_PATH,
    body: { fields: KeyChangeFields, example: { budget_day_micro: "2000000" } },
    answer: { description: "The key.", json: ApiKey, example: sampleKey },
    faults: [NO_KEY, TOO_MANY],
  },
  rotateKey: {
    at: "POST /console/api/keys/{id}/rotate",
    summary: "Give an API key a new secret",
    description:
      "The key keeps its id, its name and its settings. The secret before works for `keep_old_s` more seconds; one that was kept by an earlier rotation ends at once.",
    guard: "builder",
    needs: "work",
    path: KEY_PATH,
    body: { fields: RotateFields, example: { keep_old_s: 3600 } },
    answer: {
      description: "The key, with its new secret: keep it now.",
      json: NewApiKey,
      example: { ...sampleKey, old_secret_until: SAMPLE_TIME + 3600, secret: SAMPLE_SECRET },
    },
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
