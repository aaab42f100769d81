/** The operators' route that finds any request by its ID. */
import { z } from "zod";
import { Id, Money, makeSampleId, SAMPLE_TIME } from "../common-schemas.ts";
import { WITHHELD_REASONS } from "../enumerations.ts";
import { NO_SUCH_REQUEST } from "../faults.ts";
import { Receipt } from "../nodes/response-schemas.ts";
import { sampleReceipt } from "../nodes/sample-responses.ts";
import { declareRoutes } from "../route-declaration.ts";
import { ATTEMPT_LIST_DESCRIPTION, Request, RequestAttempt, sampleAttempts, sampleRequest } from "./requests.ts";

export const REQUEST_LEDGER_LINE_KINDS = ["charge", "share", "withheld", "fee"] as const;

const Named = (prefix: string) => z.strictObject({ id: Id(prefix), name: z.string() });

const PlatformRequestAttempt = z.strictObject({ ...RequestAttempt.shape, node: Named("node") });

const PlatformRequest = z
  .strictObject({
    ...Request.shape,
    attempt_list: z.array(PlatformRequestAttempt).describe(ATTEMPT_LIST_DESCRIPTION),
    account: Named("acc").describe("The builder."),
    node: Named("node").nullable().describe("The node of the last attempt; null if no node accepted the request."),
    host: Named("acc").nullable().describe("The node's host."),
    ledger: z
      .array(
        z.strictObject({
          kind: z
            .enum(REQUEST_LEDGER_LINE_KINDS)
            .describe(
              "`charge`: from the builder. `share`: to the host. `withheld`: the host's share, kept back. `fee`: to the platform.",
            ),
          account: Named("acc").nullable().describe("null: the platform's own."),
          amount_micro: Money,
        }),
      )
      .describe("The settlement's ledger lines; they sum to zero."),
    withheld: z.enum(WITHHELD_REASONS).nullable().describe("Why the host's share was withheld; null if it was not."),
    receipt: Receipt,
  })
  .describe("A request of any builder. Prompts and outputs are never stored.");

export const operatorRequestsResponseSchemas = { PlatformRequest, PlatformRequestAttempt };

export const platformRequestRoutes = declareRoutes({
  getPlatformRequest: {
    at: "GET /console/api/operator/requests/{id}",
    summary: "Look up any request",
    description: "The audit log records each look-up as `request.read`.",
    guard: "operator",
    path: { id: "The request ID, `req_…`, or the ID of its response: `chatcmpl-…`, `cmpl-…`." },
    answer: {
      description: "The request, its money and its receipt.",
      json: PlatformRequest,
      example: {
        ...sampleRequest,
        attempt_list: sampleAttempts.map((one) => ({ ...one, node: { id: makeSampleId("node"), name: "garage" } })),
        account: { id: makeSampleId("acc"), name: "Acme" },
        node: { id: makeSampleId("node"), name: "garage" },
        host: { id: makeSampleId("acc"), name: "Barn" },
        ledger: [
          { kind: "charge", account: { id: makeSampleId("acc"), name: "Acme" }, amount_micro: "-1.050000" },
          { kind: "share", account: { id: makeSampleId("acc"), name: "Barn" }, amount_micro: "0.735000" },
          { kind: "fee", account: null, amount_micro: "0.315000" },
        ],
        withheld: null,
        receipt: sampleReceipt,
        created_at: SAMPLE_TIME,
      },
    },
    faults: [NO_SUCH_REQUEST],
  },
});
