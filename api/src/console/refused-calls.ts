/** A builder's API calls that the gateway refused. */
import { z } from "zod";
import { Count, Id, makeListSchema, makeSampleId, SAMPLE_TIME, sampleList, Time } from "../common-schemas.ts";
import { TimeRangeFields } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";

const RefusalsQuery = z.object(TimeRangeFields);

const KeyNamed = z.strictObject({ id: Id("key"), name: z.string() });

const Refusals = z
  .strictObject({
    code: z.string().describe("The error's `code`, or its `type` where it has none: `invalid_request_error`."),
    status: z.int(),
    requests: Count,
    last_at: Time,
    keys: z.array(KeyNamed.extend({ requests: Count })).describe("The keys of these calls, the most calls first."),
    examples: z
      .array(
        z.strictObject({
          at: Time,
          key: KeyNamed,
          model: z.string().nullable().describe("null: not known when the call was refused."),
          message: z.string(),
        }),
      )
      .describe("The latest calls with this code, newest first, at most 20."),
  })
  .describe("Refused calls with one error code.");

const RefusalsList = makeListSchema(Refusals, { from: Time, to: Time, as_of: Time });

export const refusedCallResponseSchemas = { Refusals, RefusalsList };

export const refusedCallRoutes = declareRoutes({
  listRefusals: {
    at: "GET /console/api/refusals",
    summary: "Count refused calls",
    description:
      "Calls that were refused with 400, 401, 402, 404, 408, 413, 415 or 429. They cost nothing. A 401 is counted where the key's reference is yours: a revoked, expired or mistyped key. Prompts and outputs are never stored. Counts are kept for 7 days, cover whole hours and are a few seconds late.",
    guard: "builder",
    query: RefusalsQuery,
    words: {
      from: "Start of the range: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. Default: 7 days before `to`.",
      to: "End of the range, in the same formats as `from`. Default: now.",
    },
    answer: {
      description: "The counts by error code, the most calls first.",
      json: RefusalsList,
      example: {
        ...sampleList({
          code: "model_not_found",
          status: 404,
          requests: 12,
          last_at: SAMPLE_TIME,
          keys: [{ id: makeSampleId("key"), name: "production", requests: 12 }],
          examples: [
            {
              at: SAMPLE_TIME,
              key: { id: makeSampleId("key"), name: "production" },
              model: "smal-8b",
              message: "This model does not exist, or cannot be used here. GET /v1/models lists the available models.",
            },
          ],
        }),
        from: SAMPLE_TIME - 604_800,
        to: SAMPLE_TIME,
        as_of: SAMPLE_TIME,
      },
    },
  },
});
