/** A builder's API keys. */
import { z } from "zod";
import { ACTIVE_KEYS_MAX } from "../api-limits.ts";
import {
  AsOfField,
  Count,
  Id,
  Money,
  MoneyField,
  makeListSchema,
  makeSampleId,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import { isPlainText, PLAIN_TEXT_RULE } from "../plain-text.ts";
import { declareRoutes } from "../route-declaration.ts";

export const SecretNameFields = z.object({
  name: z
    .string("must be a string")
    .trim()
    .min(1, "must not be empty")
    .max(200, "must have at most 200 characters")
    .refine(isPlainText, PLAIN_TEXT_RULE),
});

export const describeSecretCountLimit = (max: number, what: string): string =>
  `Limit reached: this account already has ${max} ${what}. Revoke one first.`;

const OwnLimit = z.int("must be a whole number or null").min(0, "must be 0 or more").nullable().optional();
const OwnLimits = z
  .object(
    { requests_per_minute: OwnLimit, tokens_per_minute: OwnLimit, in_flight: OwnLimit },
    "must be an object or null",
  )
  .nullable();

/** The settings of a key. In an update, an absent field stays unchanged and null removes the setting. */
const Settings = {
  budget_day_micro: MoneyField.nullable(),
  budget_month_micro: MoneyField.nullable(),
  expires_at: z
    .int("must be Unix time in seconds, or null")
    .max(253_402_300_799, "must be before the year 10000")
    .nullable(),
  models: z
    .array(z.string("must be a model ID"), "must be a list of model IDs, or null")
    .min(1, "must contain at least one model ID, or be null")
    .max(200, "must contain at most 200 model IDs")
    .nullable(),
  spot_checks: z.boolean("must be true or false"),
  labels: z.boolean("must be true or false"),
  reasoning_content: z.boolean("must be true or false"),
  limits: OwnLimits,
};
export const KeyFields = z.object({ ...SecretNameFields.shape, ...z.object(Settings).partial().shape });
const KeyChangeFields = KeyFields.partial();
const KEEP_OLD_S_MAX = 30 * 24 * 60 * 60;
const RotateFields = z.object({
  keep_old_s: z
    .int("must be a whole number of seconds")
    .min(0, "must be 0 or more")
    .max(KEEP_OLD_S_MAX, `must be ${KEEP_OLD_S_MAX} or less`)
    .default(0),
});

export const EffectiveKeyLimits = z.strictObject({
  requests_per_minute: Count,
  tokens_per_minute: Count,
  in_flight: Count,
});

const Spend = z.strictObject({ requests: Count, charge_micro: Money });

export const ApiKey = z.strictObject({
  id: Id("key"),
  object: z.literal("api_key"),
  name: z.string().describe("Usage is reported by this name."),
  start: z.string().describe("The first characters of the key, which identify it and are not secret."),
  limits: EffectiveKeyLimits.describe(
    "The limits in force: for each, the lower of the owner's limit and `limits_max`.",
  ),
  limits_set: z
    .strictObject({
      requests_per_minute: Count.nullable(),
      tokens_per_minute: Count.nullable(),
      in_flight: Count.nullable(),
    })
    .describe("The limits that the owner set; null where none is set."),
  limits_max: EffectiveKeyLimits.describe(
    "The platform's limits, or those an operator set for this key. The owner can set lower ones.",
  ),
  budget_day_micro: Money.nullable().describe("Daily budget (UTC); null: no budget."),
  budget_month_micro: Money.nullable().describe("Monthly budget (UTC); null: no budget."),
  spend_today: Spend.describe("Spent in the current UTC day."),
  spend_this_month: Spend.describe("Spent in the current UTC month."),
  models: z.array(z.string()).nullable().describe("The models that the key may use; null: all models."),
  spot_checks: z
    .boolean()
    .describe(
      "false: no answer is checked by a second host, and only nodes with at least 1,000 checked answers of the model serve the key.",
    ),
  labels: z.boolean().describe("true: `metadata.label` of a request, or else `user`, is stored as its label."),
  reasoning_content: z
    .boolean()
    .describe("true: thinking is also sent in `reasoning_content`, in streams as it is generated."),
  expires_at: Time.nullable().describe("When the key expires; null: never."),
  old_secret_until: Time.nullable().describe("After a rotation: until when the old secret still works; else null."),
  created_by: z
    .strictObject({ name: z.string(), email: z.string() })
    .nullable()
    .describe("Who created the key; null if not known."),
  created_at: Time,
  last_used_at: Time.nullable(),
  revoked_at: Time.nullable(),
});

export const ApiKeyList = makeListSchema(ApiKey);
const ApiKeyDetail = z.strictObject({ ...ApiKey.shape, ...AsOfField });

const NewApiKey = z.strictObject({
  ...ApiKey.shape,
  secret: z.string().describe("The key, `tsk_live_<reference>_<secret>`. Shown only once."),
});

export const keyResponseSchemas = { ApiKey, ApiKeyDetail, ApiKeyList, NewApiKey };

const KEY_WORDS = {
  name: "Display name. Surrounding white space is removed.",
  budget_day_micro: "Daily budget (UTC): microdollars as a decimal string, or null for no budget.",
  budget_month_micro: "Monthly budget (UTC): microdollars as a decimal string, or null for no budget.",
  expires_at: "When the key expires, in Unix seconds; null: never.",
  models: "The models that the key may use; null: all models.",
  spot_checks:
    "false: no answer is checked by a second host, and only nodes with at least 1,000 checked answers of the model serve the key. Default: true.",
  labels: "true: `metadata.label` of a request, or else `user`, is stored as its label. Default: false.",
  reasoning_content:
    "true: thinking is also sent in `reasoning_content`, in streams as it is generated. Default: false.",
  limits:
    "The owner's own limits, up to the key's `limits_max`. A limit that is absent stays as it is. null, for one limit or for all, removes them.",
};

export const keyRequestSchemas = {
  NameRequest: { fields: SecretNameFields, words: { name: "Display name. Surrounding white space is removed." } },
  KeyRequest: { fields: KeyFields, words: KEY_WORDS },
  KeyChangeRequest: { fields: KeyChangeFields, words: KEY_WORDS },
  RotateRequest: {
    fields: RotateFields,
    words: { keep_old_s: "How long the old secret keeps working beside the new one, in seconds; at most 30 days." },
  },
};

export const sampleKey = {
  id: makeSampleId("key"),
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
  spot_checks: true,
  labels: false,
  reasoning_content: false,
  expires_at: null,
  old_secret_until: null,
  created_by: { name: "Ada", email: "ada@example.com" },
  created_at: SAMPLE_TIME,
  last_used_at: SAMPLE_TIME + 3600,
  revoked_at: null,
};

const SAMPLE_SECRET = `tsk_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}`;

const KEY_PATH = { id: "The key ID, `key_…`." };
const NO_KEY = refusal("not_found", "No such key.");
const TOO_MANY = refusal("limit_reached", describeSecretCountLimit(ACTIVE_KEYS_MAX, "API keys"));

export const keyRoutes = declareRoutes({
  listKeys: {
    at: "GET /console/api/keys",
    summary: "List API keys",
    description: "Active keys, then revoked ones, each newest first.",
    guard: "builder",
    query: PageQuery,
    answer: { description: "The keys, without their secrets.", json: ApiKeyList, example: sampleList(sampleKey) },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  createKey: {
    at: "POST /console/api/keys",
    summary: "Create an API key",
    description: "An account has at most 500 active keys; expired keys do not count.",
    guard: "builder",
    needs: "work",
    body: { fields: KeyFields, example: { name: "production", budget_day_micro: "2000000", models: ["small-8b"] } },
    answer: {
      status: 201,
      description: "The key with its secret. Store it now: it is not shown again.",
      json: NewApiKey,
      example: { ...sampleKey, last_used_at: null, secret: SAMPLE_SECRET },
    },
    faults: [TOO_MANY],
  },
  getKey: {
    at: "GET /console/api/keys/{id}",
    summary: "Get an API key",
    guard: "builder",
    path: KEY_PATH,
    answer: { description: "The key.", json: ApiKeyDetail, example: { ...sampleKey, as_of: SAMPLE_TIME } },
    faults: [NO_KEY],
  },
  changeKey: {
    at: "PATCH /console/api/keys/{id}",
    summary: "Update an API key",
    description:
      "Fields that are absent stay as they are. Past requests keep the key's old name in the history. Requests in flight when a budget is set count against it. An expired key that gets a later expiry date counts among the 500 active keys again.",
    guard: "builder",
    needs: "work",
    path: KEY_PATH,
    body: { fields: KeyChangeFields, example: { budget_day_micro: "2000000" } },
    answer: { description: "The key.", json: ApiKey, example: sampleKey },
    faults: [NO_KEY, TOO_MANY],
  },
  rotateKey: {
    at: "POST /console/api/keys/{id}/rotate",
    summary: "Rotate an API key's secret",
    description:
      "The key keeps its ID, name and settings. The old secret works for `keep_old_s` more seconds. A secret kept by an earlier rotation stops working immediately.",
    guard: "builder",
    needs: "work",
    path: KEY_PATH,
    body: { fields: RotateFields, example: { keep_old_s: 3600 } },
    answer: {
      description: "The key with its new secret. Store it now: it is not shown again.",
      json: NewApiKey,
      example: { ...sampleKey, old_secret_until: SAMPLE_TIME + 3600, secret: SAMPLE_SECRET },
    },
    faults: [NO_KEY],
  },
  revokeKey: {
    at: "DELETE /console/api/keys/{id}",
    summary: "Revoke an API key",
    description: "Revocation is permanent. Revoking a revoked key has no effect and succeeds.",
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
