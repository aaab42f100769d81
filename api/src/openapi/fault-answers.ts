/** What an endpoint refuses with, as the answers of its document: the faults themselves, by status. */
import { z } from "zod";
import {
  faults as catalogue,
  codes,
  compressedBody,
  envelopeOf,
  type Refusal,
  type Retry,
  wrongField,
} from "../faults.ts";
import { checkFields } from "../fields.ts";
import { accessOf } from "../guards.ts";
import type { Route } from "../route.ts";
import type { Example, Ref, Response } from "./openapi.ts";

const TITLES: Record<number, string> = {
  400: "Something that was sent is wrong. The message names it and its rule.",
  401: "No valid credential.",
  403: "Not allowed.",
  404: "Not there.",
  409: "The state of things does not allow it.",
  413: "The body is too large.",
  415: "The body is compressed.",
  422: "Something that was named does not exist.",
  429: "Too often, or too many at once.",
  500: "A fault of ours. The message holds the request's id.",
  501: "This platform does not have it.",
  502: "Something that the gateway depends on failed.",
  503: "There is no room for it now. A body over 64 KiB may find that too many large ones are being read.",
};

/** Everything that the route refuses with, in the order of the checks. */
export function faultsOf(route: Route): Refusal[] {
  const { query, body, faults = [] } = route;
  const access = accessOf(route);
  const own = [...access.faults, ...faults];
  const wrong = [
    ...(query === undefined ? [] : [wrongQuery(query)]),
    ...(body === undefined ? [] : ofBody(body.fields, access.open)),
  ];
  // Of several uncoded faults of a status the last is the most telling.
  return [
    ...new Map(
      [...own, ...wrong, ...codes("internal_error")].map((one) => [`${one.status} ${one.code ?? ""}`, one]),
    ).values(),
  ];
}

function wrongQuery(query: z.ZodObject): Refusal {
  const wrong = Object.keys(query.shape).map((name) => refusalBy(query, { [name]: "?" }));
  return wrong.find((one) => one !== undefined) ?? wrongField(null, "A field of the query is wrong.");
}

function ofBody(fields: z.ZodType, open: boolean): Refusal[] {
  const wrong = refusalBy(fields, {}) ?? wrongField(null, "The body must be a JSON object.");
  // Of strangers only small bodies are read, which always find room.
  const noRoom = open ? [] : codes("no_capacity");
  return [wrong, ...codes("request_too_large"), compressedBody("gzip"), ...noRoom];
}

/** What the schema itself says. */
function refusalBy(fields: z.ZodType, value: object): Refusal | undefined {
  const checked = checkFields(fields, value);
  return "wrong" in checked ? checked.wrong : undefined;
}

export interface FaultAnswers {
  byStatus: Record<string, Response | Ref>;
  /** Those that are the catalogue's own words, which many endpoints share, by their codes. */
  shared: Record<string, Response>;
}

export function faultAnswers(faults: readonly Refusal[]): FaultAnswers {
  const shared: FaultAnswers["shared"] = {};
  const byStatus = [...Map.groupBy(faults, ({ status }) => status)].map(([status, list]) => {
    const answer = responseOf(status, list);
    if (!list.every(isOfCatalogue)) return [status, answer] as const;
    const name = list.map(({ code }) => code).join(".");
    shared[name] = answer;
    return [status, { $ref: `#/components/responses/${name}` }] as const;
  });
  return { byStatus: Object.fromEntries(byStatus), shared };
}

const isOfCatalogue = ({ code, message, extra }: Refusal): boolean =>
  code !== undefined && catalogue[code].text === message && Object.keys(extra).length === 0;

function responseOf(status: number, list: readonly Refusal[]): Response {
  const lines = list.map(({ code, type, message }) =>
    code === undefined ? `- no code, type \`${type}\`` : `- \`${code}\`: ${message}`,
  );
  const later = list.some(({ retry }) => retry === "later");
  const headers = ["x-request-id", "x-should-retry", ...(later ? ["retry-after"] : [])];
  return {
    description: `${TITLES[status] ?? "Refused."}\n\n${lines.join("\n")}`,
    headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        examples: faultExamples(list),
      },
    },
  };
}

const ADVICE: Record<Retry, string> = {
  later: "Safe to retry, after the seconds of retry-after.",
  never: "Do not retry it as it is.",
  unsaid: "Retry it or not, as you like.",
};

/** Each fault as a client sees it, under its code. */
export function faultExamples(list: readonly Refusal[]): Record<string, Example> {
  return Object.fromEntries(
    list.map((one) => [one.code ?? one.type, { summary: ADVICE[one.retry], value: envelopeOf(one) }]),
  );
}

/** The envelope with the codes of one API. */
export function errorEnvelope(faults: readonly Refusal[]): z.ZodType {
  const known = [...new Set(faults.flatMap(({ code }) => (code === undefined ? [] : [code])))].sort();
  return z
    .strictObject({
      error: z.strictObject({
        message: z.string().describe("For people. The text may change."),
        type: z.string().describe("Equal to code where there is one."),
        code: z.enum(known).optional().describe("The stable contract: branch on this. Most 400 have none."),
        param: z.string().optional().describe("The field, parameter or header that is wrong."),
      }),
    })
    .describe("The one shape of every error.");
}
