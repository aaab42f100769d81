/** The document's error responses, made from the catalogue of faults: its codes, statuses and texts, and no others. */

import { faultExamples } from "@tollgate/api/openapi/fault-answers.ts";
import type { Ref, Response } from "@tollgate/api/openapi/openapi.ts";
import { z } from "zod";
import { type Fault, type FaultCode, fault, invalidRequest, unsupportedEncoding } from "../../faults.ts";
import { type HeaderName, headerRefs, RATE_LIMIT_HEADERS } from "./headers.ts";

/** Codes by the moment they can happen, in the order of the checks. */
const KEY = ["invalid_api_key"] as const;
const LIMITS = ["rate_limit_requests", "rate_limit_tokens", "rate_limit_streams"] as const;
const MODEL = ["model_not_found", "rate_limit_sku_capacity"] as const;
const MONEY = ["insufficient_credits", "hold_exceeds_balance"] as const;
const NODES = ["no_capacity", "upstream_failed", "upstream_stall"] as const;

/** What a streamed request is told in its terminal event, because its status has gone out. */
export const STREAMED_CODES: readonly FaultCode[] = NODES;

export const PUBLIC_CODES: readonly FaultCode[] = [
  ...KEY,
  "request_too_large",
  ...LIMITS,
  ...MODEL,
  ...MONEY,
  ...NODES,
  "internal_error",
];

export const ErrorEnvelope = z
  .strictObject({
    error: z.strictObject({
      message: z.string().describe("For people. The text may change."),
      type: z.string().describe("Equal to code where there is one."),
      code: z.enum(PUBLIC_CODES).optional().describe("The stable contract: branch on this. A 400 has none."),
      param: z.string().optional().describe("400 only: the field that is wrong, such as `messages[2].content`."),
      required_micro: z.int().optional().describe("hold_exceeds_balance only: the reservation, in microdollars."),
      available_micro: z.int().optional().describe("hold_exceeds_balance only: what is free, in microdollars."),
    }),
  })
  .describe("The one shape of every error.");

interface Group {
  name: string;
  title: string;
  faults: Fault[];
}

const ofCodes = (codes: readonly FaultCode[]): Fault[] => codes.map((code) => fault(code));

const INVALID: Group = {
  name: "InvalidRequest",
  title: "The body is not valid JSON, or a field is wrong. The message names the field and the rule.",
  faults: [invalidRequest("temperature", "temperature must be between 0 and 2")],
};
const UNAUTHORIZED: Group = { name: "Unauthorized", title: "No valid API key.", faults: ofCodes(KEY) };
const PAYMENT: Group = {
  name: "PaymentRequired",
  title: "Not enough credit for the reservation that the request needs.",
  faults: [
    fault("insufficient_credits"),
    fault("hold_exceeds_balance", { extra: { required_micro: 9831, available_micro: 2500 } }),
  ],
};
const NO_MODEL: Group = {
  name: "ModelNotFound",
  title: "The model does not exist, is not out yet, or is of the wrong kind for this endpoint.",
  faults: ofCodes(["model_not_found"]),
};
const TOO_LARGE: Group = {
  name: "RequestTooLarge",
  title: "The body is too large.",
  faults: ofCodes(["request_too_large"]),
};
const ENCODING: Group = {
  name: "UnsupportedEncoding",
  title: "The body is compressed.",
  faults: [unsupportedEncoding("gzip")],
};
const KEY_LIMITED: Group = {
  name: "KeyLimited",
  title: "A limit of the key is reached.",
  faults: ofCodes(LIMITS),
};
const LIMITED: Group = {
  name: "Limited",
  title: "A limit of the key, or the platform's ceiling for the model, is reached.",
  faults: ofCodes([...LIMITS, "rate_limit_sku_capacity"]),
};
const INTERNAL: Group = {
  name: "InternalError",
  title: "A fault of ours. The message holds the request's id.",
  faults: ofCodes(["internal_error"]),
};
const NODE: Group = {
  name: "NodeFailed",
  title: "The node that took the request did not finish it. On a stream that has begun: the terminal error event.",
  faults: ofCodes(["upstream_failed", "upstream_stall"]),
};
const CAPACITY: Group = {
  name: "NoCapacity",
  title: "The platform could not take the request in time. On a stream that has begun: the terminal error event.",
  faults: ofCodes(["no_capacity"]),
};

/** Which errors an operation can answer with. */
export const REFUSALS = {
  inference: [INVALID, UNAUTHORIZED, PAYMENT, NO_MODEL, TOO_LARGE, ENCODING, LIMITED, INTERNAL, NODE, CAPACITY],
  keyed: [UNAUTHORIZED, KEY_LIMITED, INTERNAL, CAPACITY],
  open: [INTERNAL],
} as const satisfies Record<string, Group[]>;

export function refusalRefs(groups: readonly Group[]): Record<string, Ref> {
  return Object.fromEntries(groups.map((group) => [statusOf(group), { $ref: `#/components/responses/${group.name}` }]));
}

export function refusalResponses(): Record<string, Response> {
  const groups = new Set(Object.values(REFUSALS).flat());
  return Object.fromEntries([...groups].map((group) => [group.name, response(group)]));
}

const statusOf = ({ faults: [first] }: Group): number => first?.status ?? 500;

function response({ title, faults }: Group): Response {
  const lines = faults.map(({ code, type, message }) =>
    code === undefined ? `- no code, type \`${type}\`` : `- \`${code}\`: ${message}`,
  );
  return {
    description: `${title}\n\n${lines.join("\n")}`,
    headers: headerRefs(headersOf(faults)),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        examples: faultExamples(faults),
      },
    },
  };
}

function headersOf(faults: Fault[]): HeaderName[] {
  const retried = faults.some(({ retry }) => retry === "later");
  // Without a valid key there are no limits to tell of, and a fault of ours may come before they are known.
  const keyed = faults.every(({ status }) => status !== 401 && status !== 500);
  return [
    "x-request-id",
    "x-should-retry",
    ...(retried ? (["retry-after"] as const) : []),
    ...(keyed ? RATE_LIMIT_HEADERS : []),
  ];
}
