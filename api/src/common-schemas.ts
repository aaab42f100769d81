/**
 * Common values in answers of the console and node APIs. Objects refuse unknown fields, so that tests detect
 * undocumented ones.
 */
import { z } from "zod";
import { ACCOUNT_KINDS, type RequestOutcome as Outcome, REQUEST_OUTCOMES } from "./enumerations.ts";

/** The suffix of every ID in examples. */
export const SAMPLE_ID_SUFFIX = "06dfk3v8qe7z2m4x9t1c5n0bga";

export const Id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));

/** A query parameter with an ID. */
export const IdField = (prefix: string, rule: string) =>
  z.string().refine((text) => new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`).test(text), rule);

/** Makes an ID for examples. */
export const makeSampleId = (prefix: string): string => `${prefix}_${SAMPLE_ID_SUFFIX}`;

export const Money = z
  .string()
  .regex(/^-?\d+\.\d{6}$/)
  .describe("Microdollars as a decimal string with six digits after the point: `1000000.000000` is $1. Never a float.");

/** An amount that a caller sets: microdollars with up to six decimals, up to a million dollars. */
const AMOUNT_RULE =
  "must be microdollars as a decimal string from 0 to 1000000000000, with up to six digits after the point";
export const MoneyField = z
  .string(AMOUNT_RULE)
  .refine((text) => /^\d{1,12}(\.\d{1,6})?$|^10{12}(\.0{1,6})?$/.test(text), AMOUNT_RULE);

export const Time = z.int().describe("Unix time in seconds.");
export const Count = z.int().min(0);
export const Milliseconds = z.int().min(0).nullable();

export const AccountKind = z.enum(ACCOUNT_KINDS);

const OUTCOME_WORDS: Record<Outcome, string> = {
  ok: "finished",
  upstream_failed: "the node reported a failure",
  upstream_stall: "the node stopped responding",
  no_capacity: "no node accepted the request in time",
  client_closed: "cancelled by the client",
  plane_lost: "the platform lost its connection to the node; delivered output was charged",
  gateway_stopped: "the gateway was stopped; delivered output was charged",
  gateway_lost: "the gateway crashed; nothing was charged",
  rate_limit_requests: "refused with 429: too many requests this minute",
  rate_limit_tokens: "refused with 429: too many tokens this minute",
  rate_limit_streams: "refused with 429: too many requests in flight",
  rate_limit_sku_capacity: "refused with 429: the platform's limit for the model",
};

export const RequestOutcome = z
  .enum(REQUEST_OUTCOMES)
  .describe(
    `How the request ended. ${REQUEST_OUTCOMES.map((name) => `\`${name}\`: ${OUTCOME_WORDS[name]}`).join("; ")}.`,
  );

export const NextCursor = z.string().nullable().describe("The cursor of the next page; null on the last page.");

/**
 * The time of the figures in an answer. Unless the route sets it, the gateway adds the time at which it began to read
 * them.
 */
export const AsOfField = { as_of: z.int().describe("When these figures were true, Unix time in seconds.") };

/** The schema of a list: `{object: "list", data, next_cursor, as_of}`, with additional fields if given. */
export const makeListSchema = <Row extends z.ZodType, More extends z.ZodRawShape = Record<never, z.ZodType>>(
  row: Row,
  more?: More,
) =>
  z.strictObject({
    object: z.literal("list"),
    data: z.array(row),
    next_cursor: NextCursor,
    ...AsOfField,
    ...(more as More),
  });

export const SAMPLE_TIME = 1_790_000_000;

export const sampleList = (...data: unknown[]) => ({ object: "list", data, next_cursor: null, as_of: SAMPLE_TIME });
