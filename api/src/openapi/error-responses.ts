/** Generates the error responses in the API document from a route's errors, grouped by status. */
import { z } from "zod";
import {
  buildErrorBody,
  faults as catalogue,
  compressedBodyError,
  invalidFieldError,
  type Refusal,
  type RetryAdvice,
  refusalsOfCodes,
  slowBodyError,
} from "../faults.ts";
import { findAccessRules } from "../guards.ts";
import type { Route } from "../route-declaration.ts";
import { validateFields } from "../validate-fields.ts";
import type { NamedRefusals } from "./api-declaration.ts";
import type { Example, Ref, Response } from "./openapi-types.ts";

const TITLES: Record<number, string> = {
  400: "Invalid request. The message names the field and the rule.",
  401: "The credential is missing or invalid.",
  403: "Not allowed.",
  404: "Not found.",
  408: "The body arrives too slowly.",
  409: "Not possible in the current state.",
  413: "The body is too large.",
  415: "The body is compressed.",
  422: "A named object does not exist.",
  429: "Rate limit or concurrency limit reached.",
  500: "Internal error. The message contains the request ID.",
  501: "Not supported by this platform.",
  502: "A service that the gateway depends on failed.",
  503: "Temporarily unavailable: a service that the platform needs is down or, for bodies over 64 KiB, too many large ones are being read.",
};

/** All error responses of the route, in the order of the checks. */
export function listRouteErrors(route: Route): Refusal[] {
  const { query, body, faults = [] } = route;
  const access = findAccessRules(route);
  const own = [...access.faults, ...faults];
  const wrong = [
    ...(query === undefined ? [] : [wrongQuery(query)]),
    ...(body === undefined ? [] : ofBody(body.fields)),
  ];
  // Any route may return these two errors, for example while the database is unreachable. If several errors have the
  // same status and code, only the last one is kept, which is the most specific.
  return [
    ...new Map(
      [...own, ...wrong, ...refusalsOfCodes("internal_error", "no_capacity")].map((one) => [
        `${one.status} ${one.code ?? ""}`,
        one,
      ]),
    ).values(),
  ];
}

function wrongQuery(query: z.ZodObject): Refusal {
  const wrong = Object.keys(query.shape).map((name) => refusalBy(query, { [name]: "?" }));
  return wrong.find((one) => one !== undefined) ?? invalidFieldError(null, "A query parameter is invalid.");
}

function ofBody(fields: z.ZodType): Refusal[] {
  const wrong = refusalBy(fields, {}) ?? invalidFieldError(null, "The body must be a JSON object.");
  return [wrong, slowBodyError(), ...refusalsOfCodes("request_too_large"), compressedBodyError("gzip")];
}

/** The error that the schema gives for this value. */
function refusalBy(fields: z.ZodType, value: object): Refusal | undefined {
  const checked = validateFields(fields, value);
  return "wrong" in checked ? checked.wrong : undefined;
}

interface FaultAnswers {
  byStatus: Record<string, Response | Ref>;
  /**
   * Responses that are referenced by name: those that the API itself names, and those whose errors all have the
   * standard message of the error catalogue, because many routes share these.
   */
  shared: Record<string, Response>;
}

interface FaultAnswersOptions {
  named?: NamedRefusals | undefined;
  /** The headers of answers to callers that the guard admits. */
  headers?: readonly string[] | undefined;
}

export function buildErrorResponses(faults: readonly Refusal[], options: FaultAnswersOptions = {}): FaultAnswers {
  const { named = {}, headers = [] } = options;
  const shared: FaultAnswers["shared"] = {};
  const byStatus = [...Map.groupBy(faults, ({ status }) => status)].map(([status, list]) => {
    const [name, given] = Object.entries(named).find(([, one]) => areSame(one.faults, list)) ?? [nameOf(list, named)];
    const answer = responseOf(status, { title: TITLES[status] ?? "Refused.", faults: list, ...given }, headers);
    if (name === undefined) return [status, answer] as const;
    shared[name] = answer;
    return [status, { $ref: `#/components/responses/${name}` }] as const;
  });
  return { byStatus: Object.fromEntries(byStatus), shared };
}

/**
 * Whether two lists contain the same errors. Errors without a code differ only in the invalid field, so one of them
 * stands for all.
 */
const areSame = (named: readonly Refusal[], list: readonly Refusal[]): boolean =>
  named.length === list.length &&
  named.every(({ status, code, message }, i) => {
    const other = list[i];
    return status === other?.status && code === other.code && (code === undefined || message === other.message);
  });

/**
 * The generated name. Undefined if the route uses its own message, or if the API uses the name for another response.
 */
function nameOf(list: readonly Refusal[], taken: NamedRefusals): string | undefined {
  const name = list.map(({ code }) => code).join(".");
  return list.every(isOfCatalogue) && !Object.hasOwn(taken, name) ? name : undefined;
}

const isOfCatalogue = ({ code, message, extra }: Refusal): boolean =>
  code !== undefined && catalogue[code].text === message && Object.keys(extra).length === 0;

interface Titled {
  title: string;
  faults: readonly Refusal[];
}

/** Statuses that may occur before the guard has finished. These responses do not have the guard's headers. */
const BEFORE_THE_GUARD_IS_DONE = [401, 500];

function responseOf(status: number, { title, faults }: Titled, ofGuard: readonly string[]): Response {
  const lines = faults.map(({ code, type, message }) =>
    code === undefined ? `- no code, type \`${type}\`` : `- \`${code}\`: ${message}`,
  );
  const headers = [
    ...["x-request-id", "x-should-retry"],
    ...(faults.some(({ retry }) => retry === "later") ? ["retry-after"] : []),
    ...(BEFORE_THE_GUARD_IS_DONE.includes(status) ? [] : ofGuard),
  ];
  return {
    description: `${title}\n\n${lines.join("\n")}`,
    headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        examples: faultExamples(faults),
      },
    },
  };
}

const ADVICE: Record<RetryAdvice, string> = {
  later: "Safe to retry after the number of seconds in the retry-after header.",
  never: "Do not retry without changes.",
  unsaid: "A retry is optional.",
};

/** The examples of error responses, by code. */
function faultExamples(list: readonly Refusal[]): Record<string, Example> {
  return Object.fromEntries(
    list.map((one) => [one.code ?? one.type, { summary: ADVICE[one.retry], value: buildErrorBody(one) }]),
  );
}

/** The schema of an error response, with all codes of one API. */
export function makeErrorEnvelopeSchema(faults: readonly Refusal[]): z.ZodType {
  const known = [...new Set(faults.flatMap(({ code }) => (code === undefined ? [] : [code])))].sort();
  return z
    .strictObject({
      error: z.strictObject({
        message: z.string().describe("For humans. The text may change."),
        type: z.string().describe("Equal to `code` if there is one."),
        code: z.enum(known).optional().describe("The stable contract: branch on this. Most 400 errors have none."),
        param: z.string().optional().describe("The field, parameter or header that is invalid."),
      }),
    })
    .describe("The envelope of every error.");
}
