/** The platform's status and the decisions that wait for an operator. */
import { z } from "zod";
import { Count, Id, Money, makeSampleId, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { PLATFORM_STATES } from "../enumerations.ts";
import { Quarantine } from "../nodes/response-schemas.ts";
import { declareRoutes } from "../route-declaration.ts";
import { HEALTH_DEPENDENCIES } from "./health.ts";

export const PLATFORM_TROUBLE_CAUSES = ["unreachable", "no_models", "no_capacity", "errors"] as const;

const Cause = z.strictObject({
  code: z
    .enum(PLATFORM_TROUBLE_CAUSES)
    .describe(
      "`unreachable`: the gateway cannot reach `part`. `no_models`: the catalogue has no active model. `no_capacity`: no connected node serves `models`. `errors`: a fifth or more of the requests for `models` fail.",
    ),
  since: Time.nullable().describe("null: not known."),
  part: z.enum(HEALTH_DEPENDENCIES).nullable(),
  models: z.array(z.string()),
});

const Triage = z.strictObject({
  object: z.literal("triage"),
  as_of: Time,
  state: z
    .enum(PLATFORM_STATES)
    .describe("`down`: no request can be served. `degraded`: some cannot. As seen by the gateway that answers."),
  causes: z.array(Cause).describe("Why, the most pressing first. Empty while the platform serves."),
  models: Count.describe("Number of models that are served, or were in the last 30 days."),
  inbox: z
    .strictObject({
      quarantines: z.array(
        z.strictObject({
          node: Id("node"),
          name: z.string(),
          account: Id("acc"),
          account_name: z.string(),
          quarantine: Quarantine,
        }),
      ),
      payouts: z.array(
        z.strictObject({ id: Id("pay"), note: z.string(), created_at: Time, hosts: Count, total_micro: Money }),
      ),
      disputes: z.array(
        z.strictObject({
          id: z.string().describe("The payment provider's ID of the dispute."),
          account: Id("acc"),
          account_name: z.string(),
          amount_micro: Money,
          at: Time,
        }),
      ),
      settlements_given_up: Count.describe(
        "Settlements of all gateways that the database refused permanently, and that are not in the ledger yet.",
      ),
      spools_left: z
        .array(
          z.strictObject({
            gateway: z.string().describe("The process's ID, as in its log lines (`instance`)."),
            host: z.string(),
            directory: z.string(),
            seen_at: Time.describe("When it last reached the database."),
            requests: Count.describe(
              "Its requests whose holds expired. Any of them may be answered, and not charged yet.",
            ),
          }),
        )
        .describe(
          "Gateway processes that are gone or cut off from the database, and may have settlements on their disk.",
        ),
    })
    .describe("What waits for a decision: at most 20 of each, quarantines and disputes of the longest standing first."),
});

export const operatorTriageResponseSchemas = { Triage };

export const triageRoutes = declareRoutes({
  getTriage: {
    at: "GET /console/api/operator/triage",
    summary: "Get the platform's verdict and open decisions",
    guard: "operator",
    answer: {
      description: "Whether the platform serves, why not, and what waits for a decision.",
      json: Triage,
      example: {
        object: "triage",
        as_of: SAMPLE_TIME + 60,
        state: "degraded",
        causes: [{ code: "no_capacity", since: SAMPLE_TIME, part: null, models: ["small-8b"] }],
        models: 3,
        inbox: {
          quarantines: [
            {
              node: makeSampleId("node"),
              name: "garage",
              account: makeSampleId("acc"),
              account_name: "Barn",
              quarantine: { reason: "canary", evidence: { model: "small-8b" }, at: SAMPLE_TIME },
            },
          ],
          payouts: [
            {
              id: makeSampleId("pay"),
              note: "November",
              created_at: SAMPLE_TIME,
              hosts: 3,
              total_micro: "735000.000000",
            },
          ],
          disputes: [],
          settlements_given_up: 0,
          spools_left: [],
        },
      },
    },
  },
});
