/**
 * A checklist of settings that a public platform needs. For each step that the gateway can check itself, it reports
 * whether the step is done.
 */
import { z } from "zod";
import { SAMPLE_TIME, Time } from "../common-schemas.ts";
import { declareRoutes } from "../route-declaration.ts";

export const DETECTED_SETUP_STEPS = ["tls", "email", "payments", "second_operator"] as const;
/** Steps that the gateway cannot check itself. */
export const CONFIRMED_SETUP_STEPS = ["backups", "alerts"] as const;

const TICKED_RULE = `must be a list of: ${CONFIRMED_SETUP_STEPS.join(", ")}`;
const TickedFields = z.object({
  ticked: z
    .array(z.enum(CONFIRMED_SETUP_STEPS, TICKED_RULE), TICKED_RULE)
    .max(CONFIRMED_SETUP_STEPS.length, TICKED_RULE),
});

const Setup = z.strictObject({
  object: z.literal("setup"),
  as_of: Time,
  steps: z.array(
    z.strictObject({
      step: z
        .enum(DETECTED_SETUP_STEPS)
        .describe(
          "`tls`: browsers reach the gateway by HTTPS. `email`: the gateway can send email. `payments`: credits can be bought. `second_operator`: another person can act for the platform.",
        ),
      done: z.boolean(),
    }),
  ),
  ticked: z
    .array(z.enum(CONFIRMED_SETUP_STEPS))
    .describe(
      "The steps that the gateway cannot check and that you ticked off. `backups`: the database is backed up. `alerts`: somebody gets the alerts.",
    ),
});

export const operatorSetupResponseSchemas = { Setup };
export const operatorSetupRequestSchemas = {
  SetupTicks: { fields: TickedFields, words: { ticked: "All steps that are ticked off from now on." } },
};

const sampleSetup = {
  object: "setup",
  as_of: SAMPLE_TIME,
  steps: [{ step: "tls", done: true }],
  ticked: ["backups"],
};

export const setupRoutes = declareRoutes({
  getSetup: {
    at: "GET /console/api/operator/setup",
    summary: "Get the set-up of the platform",
    guard: "operator",
    answer: {
      description: "What is set up and what is not.",
      json: Setup,
      example: sampleSetup,
    },
  },
  tickSetup: {
    at: "PUT /console/api/operator/setup",
    summary: "Tick off steps of the set-up",
    description: "For you only: other operators have ticks of their own.",
    guard: "operator",
    body: { fields: TickedFields, example: { ticked: ["backups"] } },
    answer: { description: "What is set up and what is not.", json: Setup, example: sampleSetup },
  },
});
