/** The record of what operators did. */
import { z } from "zod";
import { codes } from "../faults.ts";
import { PageFields, SpanFields } from "../lists.ts";
import { routes } from "../route.ts";
import { Id, IdField, listOf, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import { SearchText } from "./operator-fields.ts";

export const AUDIT_OUTCOMES = ["done", "refused", "failed", "running"] as const;

export const AuditFilter = {
  operator: SearchText.optional(),
  action: SearchText.optional(),
  subject: SearchText.optional(),
  account: IdField("acc", "must be an account's id (acc_…)").optional(),
  outcome: z.enum(AUDIT_OUTCOMES, `must be one of ${AUDIT_OUTCOMES.join(", ")}`).optional(),
  ...SpanFields,
};
const WORDS = {
  operator: "Only what these operators did: a part of an e-mail address, or `command line`.",
  action: "Only this action, such as `account.suspend`.",
  subject: "Only what was done to this one, by its id.",
  account: "Only what was done to this account, its keys and its nodes; `acc_…`.",
  outcome: "Only what ended so. `refused`: by a rule, `failed`: by a fault of ours, `running`: it has not ended.",
  from: "Where the span begins: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds.",
  to: "Where it ends, written like `from`. What happens at that moment is not in it.",
};

const OperatorAction = z.strictObject({
  object: z.literal("operator_action"),
  at: Time,
  operator: z.string().describe("An e-mail address, or `command line`."),
  action: z.string().describe("Such as `account.suspend`."),
  subject: z.string().describe("The id of whom or what it was done to."),
  subject_name: z.string().nullable().describe("What it is called now; null where that is not known."),
  subject_account: z
    .strictObject({ id: Id("acc"), name: z.string() })
    .nullable()
    .describe("Whose it is, where it is a key or a node."),
  details: z.record(z.string(), z.unknown()),
  outcome: z.string().nullable().describe("`done`, the code of what refused it, or `failed`; null while it runs."),
});
const OperatorActionList = listOf(OperatorAction);

export const answers = { OperatorAction, OperatorActionList };

export const auditRoutes = routes({
  listOperatorActions: {
    at: "GET /console/api/operator/audit",
    summary: "List what operators did",
    description: "The newest first. Nothing in it is ever rewritten.",
    guard: "operator",
    query: z.object({ ...PageFields, ...AuditFilter }),
    words: WORDS,
    answer: {
      description: "A page of the record.",
      json: OperatorActionList,
      example: sampleList({
        object: "operator_action",
        at: SAMPLE_TIME,
        operator: "olga@example.com",
        action: "account.grant",
        subject: sampleId("acc"),
        subject_name: "Acme",
        subject_account: null,
        details: { amount_micro: "5000000.000000", reason: "a welcome" },
        outcome: "done",
      }),
    },
    faults: codes("invalid_cursor"),
  },
  exportOperatorActions: {
    at: "GET /console/api/operator/audit.csv",
    summary: "Export what operators did",
    description: "All of it that matches, the newest first.",
    guard: "operator",
    query: z.object(AuditFilter),
    words: WORDS,
    answer: {
      description: "The file.",
      csv: {
        description: "One line per act under a line of column names, separated by commas.",
        example: `at,operator,action,subject,subject_name,outcome,details\r\n2026-09-21T13:33:20.000Z,olga@example.com,account.suspend,${sampleId("acc")},Acme,done,"{""reason"":""an unpaid dispute""}"\r\n`,
      },
      headers: ["content-disposition"],
    },
  },
});
