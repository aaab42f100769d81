/** The audit log of operators' actions. */
import { z } from "zod";
import { Id, IdField, makeListSchema, makeSampleId, SAMPLE_TIME, sampleList, Time } from "../common-schemas.ts";
import { refusalsOfCodes } from "../faults.ts";
import { PageFields, TimeRangeFields } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import { SearchText } from "./operator-fields.ts";

export const AUDIT_OUTCOMES = ["done", "refused", "failed", "running"] as const;

export const AuditFilter = {
  operator: SearchText.optional(),
  action: SearchText.optional(),
  subject: SearchText.optional(),
  account: IdField("acc", "must be an account ID (acc_…)").optional(),
  outcome: z.enum(AUDIT_OUTCOMES, `must be one of ${AUDIT_OUTCOMES.join(", ")}`).optional(),
  ...TimeRangeFields,
};
const WORDS = {
  operator: "Only actions by operators whose email address contains this text, or by `command line`.",
  action: "Only this action, such as `account.suspend`.",
  subject: "Only actions on the object with this ID.",
  account: "Only actions on this account, its keys and its nodes; `acc_…`.",
  outcome:
    "Only actions with this outcome. `refused`: a rule did not allow it. `failed`: an internal error. `running`: not finished.",
  from: "Start of the time range: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds.",
  to: "End of the time range (exclusive), in the same formats as `from`.",
};

const OperatorAction = z.strictObject({
  object: z.literal("operator_action"),
  at: Time,
  operator: z.string().describe("An email address, or `command line`."),
  action: z.string().describe("Such as `account.suspend`."),
  subject: z.string().describe("The ID of the object that the action changed."),
  subject_name: z.string().nullable().describe("The object's current name; null if not known."),
  subject_account: z
    .strictObject({ id: Id("acc"), name: z.string() })
    .nullable()
    .describe("The account that owns the key or node; else null."),
  details: z.record(z.string(), z.unknown()),
  outcome: z
    .string()
    .nullable()
    .describe("`done`, `failed`, or the code of the error that refused the action; null while it runs."),
});
const OperatorActionList = makeListSchema(OperatorAction);

export const operatorAuditResponseSchemas = { OperatorAction, OperatorActionList };

export const auditRoutes = declareRoutes({
  listOperatorActions: {
    at: "GET /console/api/operator/audit",
    summary: "List operator actions",
    description: "The audit log, newest first. Entries are never changed.",
    guard: "operator",
    query: z.object({ ...PageFields, ...AuditFilter }),
    words: WORDS,
    answer: {
      description: "A page of the audit log.",
      json: OperatorActionList,
      example: sampleList({
        object: "operator_action",
        at: SAMPLE_TIME,
        operator: "olga@example.com",
        action: "account.grant",
        subject: makeSampleId("acc"),
        subject_name: "Acme",
        subject_account: null,
        details: { amount_micro: "5000000.000000", reason: "a welcome" },
        outcome: "done",
      }),
    },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  exportOperatorActions: {
    at: "GET /console/api/operator/audit.csv",
    summary: "Export operator actions",
    description: "All matching entries of the audit log, newest first.",
    guard: "operator",
    query: z.object(AuditFilter),
    words: WORDS,
    answer: {
      description: "The CSV file.",
      csv: {
        description: "A header line, then one comma-separated line per action.",
        example: `at,operator,action,subject,subject_name,outcome,details\r\n2026-09-21T13:33:20.000Z,olga@example.com,account.suspend,${makeSampleId("acc")},Acme,done,"{""reason"":""an unpaid dispute""}"\r\n`,
      },
      headers: ["content-disposition"],
    },
  },
});
