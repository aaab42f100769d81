/** Incidents for operators, and the public updates that they write. */
import { z } from "zod";
import { Id, makeSampleId, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { INCIDENT_CAUSES, PLATFORM_STATES } from "../enumerations.ts";
import { refusal } from "../faults.ts";
import { isPlainText, PLAIN_TEXT_RULE } from "../plain-text.ts";
import { declareRoutes } from "../route-declaration.ts";

export const NewIncidentUpdate = z.strictObject({
  text: z
    .string("must be a string")
    .trim()
    .min(1, "must not be empty")
    .max(500, "must have at most 500 characters")
    .refine(isPlainText, PLAIN_TEXT_RULE),
});

const Incident = z.strictObject({
  id: Id("inc"),
  object: z.literal("incident"),
  model: z.string().nullable().describe("Null: the whole platform."),
  state: z.enum(PLATFORM_STATES).exclude(["serving"]).describe("The worst that it was."),
  cause: z
    .enum(INCIDENT_CAUSES)
    .describe(
      "`database`, `limits`, `plane`: gateways could not reach it. `stopped`: no gateway ran. `no_capacity`: no connected node served the model, or any. `errors`: a fifth or more of the requests failed.",
    ),
  from: Time,
  to: Time.nullable().describe("Null while it is ongoing."),
  updates: z.array(z.strictObject({ at: Time, text: z.string() })).describe("Newest first."),
});

const Incidents = z.strictObject({
  object: z.literal("incidents"),
  as_of: Time,
  is_public: z.boolean().describe("Whether the status page shows them."),
  data: z.array(Incident),
});

export const operatorIncidentsResponseSchemas = { Incident, Incidents };

export const operatorIncidentsRequestSchemas = {
  PostIncidentUpdateRequest: {
    fields: NewIncidentUpdate,
    words: {
      text: "The text that the status page shows to everybody. Plain text; it cannot be changed or removed afterwards.",
    },
  },
};

const sampleIncident = {
  id: makeSampleId("inc"),
  object: "incident",
  model: null,
  state: "down",
  cause: "database",
  from: SAMPLE_TIME - 600,
  to: null,
  updates: [{ at: SAMPLE_TIME - 300, text: "We are looking into it." }],
};

export const operatorIncidentRoutes = declareRoutes({
  listIncidents: {
    at: "GET /console/api/operator/incidents",
    summary: "List incidents",
    description: "Those of the last 90 days that lasted at least a minute, newest first, at most 50.",
    guard: "operator",
    answer: {
      description: "The incidents.",
      json: Incidents,
      example: { object: "incidents", as_of: SAMPLE_TIME, is_public: true, data: [sampleIncident] },
    },
  },
  postIncidentUpdate: {
    at: "POST /console/api/operator/incidents/{id}/updates",
    summary: "Post an update on an incident",
    description: "The status page shows it to everybody within seconds.",
    guard: "operator",
    path: { id: "The incident's ID, `inc_…`." },
    body: { fields: NewIncidentUpdate, example: { text: "We are looking into it." } },
    answer: { status: 201, description: "The incident.", json: Incident, example: sampleIncident },
    faults: [refusal("not_found", "No such incident.")],
  },
});
