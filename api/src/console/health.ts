/** The state of the gateway's dependencies. A console page asks for it when its live updates have stopped. */
import { z } from "zod";
import { SAMPLE_TIME, Time } from "../common-schemas.ts";
import { declareRoutes } from "../route-declaration.ts";

/** The services that a gateway depends on: PostgreSQL, the limits server (Valkey) and the dispatch plane. */
export const HEALTH_DEPENDENCIES = ["database", "limits", "plane"] as const;

const Health = z.strictObject({
  object: z.literal("health"),
  as_of: Time,
  unreachable: z
    .array(
      z.strictObject({
        part: z
          .enum(HEALTH_DEPENDENCIES)
          .describe("`database`; `limits`: the limits server; `plane`: the dispatch plane."),
        since: Time,
        needed: z.boolean().describe("Whether no request can be served without it."),
      }),
    )
    .describe("What this gateway needs and cannot reach. Empty: everything is there."),
});

export const healthResponseSchemas = { Health };

export const healthRoutes = declareRoutes({
  getHealth: {
    at: "GET /console/api/health",
    summary: "Get what the gateway cannot reach",
    description: "Answers without the database, and therefore without a session.",
    guard: "anyone",
    answer: {
      description: "What is unreachable, and since when.",
      json: Health,
      example: {
        object: "health",
        as_of: SAMPLE_TIME + 40,
        unreachable: [{ part: "database", since: SAMPLE_TIME, needed: true }],
      },
    },
  },
});
