/**
 * A checklist of settings that a public platform needs. For each step that the gateway can check itself, it reports
 * whether the step is done.
 */
import { z } from "zod";
import { declareRoutes } from "../route.ts";
import { SAMPLE_TIME, Time } from "../values.ts";

export const SETUP_STEPS = ["tls", "email", "payments", "second_operator"] as const;

const Setup = z.strictObject({
  object: z.literal("setup"),
  as_of: Time,
  steps: z.array(
    z.strictObject({
      step: z
        .enum(SETUP_STEPS)
        .describe(
          "`tls`: browsers reach the gateway by HTTPS. `email`: the gateway can send email. `payments`: credits can be bought. `second_operator`: another person can act for the platform.",
        ),
      done: z.boolean(),
    }),
  ),
});

export const operatorSetupAnswerSchemas = { Setup };

export const setupRoutes = declareRoutes({
  getSetup: {
    at: "GET /console/api/operator/setup",
    summary: "Get the set-up of the platform",
    guard: "operator",
    answer: {
      description: "What is set up and what is not.",
      json: Setup,
      example: { object: "setup", as_of: SAMPLE_TIME, steps: [{ step: "tls", done: true }] },
    },
  },
});
