/** The errors of the public API: the names of its error responses, its codes, and the format of its errors. */
import { z } from "zod";
import {
  brokenRuleError,
  compressedBodyError,
  type FaultCode,
  refusal,
  refusalsOfCodes,
  slowBodyError,
} from "../faults.ts";
import type { NamedRefusals } from "../openapi/api-declaration.ts";

/** Error codes by the step that returns them, in the order of the checks. */
const KEY = ["invalid_api_key"] as const;
const LIMITS = ["rate_limit_requests", "rate_limit_tokens", "rate_limit_streams"] as const;
const MODEL = ["model_not_found", "rate_limit_sku_capacity"] as const;
const MONEY = ["insufficient_credits", "hold_exceeds_balance"] as const;
const NODES = ["no_capacity", "upstream_failed", "upstream_stall"] as const;

/** Errors that can end a stream in its last event, after status 200 has been sent. */
export const STREAM_END_ERROR_CODES: readonly FaultCode[] = NODES;

export const PUBLIC_ERROR_CODES: readonly FaultCode[] = [
  ...KEY,
  "request_too_large",
  ...LIMITS,
  ...MODEL,
  ...MONEY,
  ...NODES,
  "internal_error",
];

const NO_CREDIT = [
  refusal("insufficient_credits"),
  refusal("hold_exceeds_balance", undefined, { required_micro: 9831, available_micro: 2500 }),
];

/** The errors of inference routes, besides those of the API key and the body. */
export const INFERENCE_FAULTS = [...refusalsOfCodes(...MODEL), ...NO_CREDIT, ...refusalsOfCodes(...NODES)];

export const ErrorEnvelope = z
  .strictObject({
    error: z.strictObject({
      message: z.string().describe("For humans. The text may change."),
      type: z.string().describe("Equal to `code` if there is one."),
      code: z.enum(PUBLIC_ERROR_CODES).optional().describe("The stable contract: branch on this. A 400 has none."),
      param: z.string().optional().describe("400 only: the invalid field, such as `messages[2].content`."),
      required_micro: z.int().optional().describe("hold_exceeds_balance only: the required hold, in microdollars."),
      available_micro: z.int().optional().describe("hold_exceeds_balance only: the available amount, in microdollars."),
    }),
  })
  .describe("The envelope of every error.");

export const PUBLIC_REFUSALS: NamedRefusals = {
  InvalidRequest: {
    title: "The body is not valid JSON, or a field is invalid. The message names the field and the rule.",
    faults: [brokenRuleError("temperature", "must be between 0 and 2")],
  },
  Unauthorized: { title: "The API key is missing or invalid.", faults: refusalsOfCodes(...KEY) },
  PaymentRequired: {
    title: "Not enough credit for the request's hold.",
    faults: NO_CREDIT,
  },
  ModelNotFound: {
    title:
      "The model does not exist, is not available yet, may not be used by this key, or is of the wrong kind for this endpoint.",
    faults: refusalsOfCodes("model_not_found"),
  },
  TooSlow: { title: "The body arrives too slowly.", faults: [slowBodyError()] },
  RequestTooLarge: { title: "The body is too large.", faults: refusalsOfCodes("request_too_large") },
  UnsupportedEncoding: { title: "The body is compressed.", faults: [compressedBodyError("gzip")] },
  Limited: {
    title: "A limit of the key, or the platform's limit for the model, is reached.",
    faults: refusalsOfCodes(...LIMITS, "rate_limit_sku_capacity"),
  },
  InternalError: {
    title: "Internal error. The message contains the request ID.",
    faults: refusalsOfCodes("internal_error"),
  },
  NodeFailed: {
    title: "The node that accepted the request did not finish it. In a stream: the terminal error event.",
    faults: refusalsOfCodes("upstream_failed", "upstream_stall"),
  },
  NoCapacity: {
    title: "The platform could not serve the request in time. In a stream: the terminal error event.",
    faults: refusalsOfCodes("no_capacity"),
  },
  KeyLimited: { title: "A limit of the key is reached.", faults: refusalsOfCodes(...LIMITS) },
};
