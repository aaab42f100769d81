/**
 * Withheld shares (earnings that are not paid) of all hosts: the balance of the account that holds them, and their
 * release.
 */
import { z } from "zod";
import { Count, Id, IdField, Money, makeListSchema, makeSampleId, sampleList } from "../common-schemas.ts";
import { refusalsOfCodes } from "../faults.ts";
import { PageFields } from "../list-query-fields.ts";
import { NodeField } from "../nodes/request-fields.ts";
import { WithheldShare } from "../nodes/response-schemas.ts";
import { sampleWithheldEarnings } from "../nodes/sample-responses.ts";
import { declareRoutes } from "../route-declaration.ts";
import { Reason } from "./operator-fields.ts";

const REQUESTS_MAX = 1000;

export const PlatformWithheldQuery = z.object({
  ...PageFields,
  host: IdField("acc", "must be a host account's ID (acc_…)").optional(),
  node: NodeField.optional(),
  open: z.enum(["true", "false"], "must be true or false").optional(),
});

export const ReleaseWithheldSharesFields = z
  .object({
    requests: z
      .array(IdField("req", "must be a request ID (req_…)"), "must be a list of request IDs")
      .min(1, "must not be empty")
      .max(REQUESTS_MAX, `must have at most ${REQUESTS_MAX} request IDs`)
      .optional(),
    node: NodeField.optional(),
    note: Reason,
  })
  .refine(({ requests, node }) => (requests === undefined) !== (node === undefined), {
    path: ["requests"],
    message: 'or "node" must be given, but not both',
  });

const PlatformWithheldShare = z.strictObject({
  ...WithheldShare.shape,
  account: Id("acc").describe("The host account."),
  account_name: z.string(),
  node_name: z.string().nullable(),
  released_by: z.string().nullable(),
});
const PlatformWithheldList = makeListSchema(PlatformWithheldShare);
const Released = z.strictObject({ shares: Count, amount_micro: Money }).describe("What was released by this call.");

export const operatorWithheldResponseSchemas = { PlatformWithheldShare, PlatformWithheldList, Released };
export const operatorWithheldRequestSchemas = {
  ReleaseWithheldRequest: {
    fields: ReleaseWithheldSharesFields,
    words: {
      requests: "The requests whose shares are released.",
      node: "Releases every withheld share of this node instead, `node_…`.",
      note: "The reason. The host sees it.",
    },
  },
};

const sample = {
  ...sampleWithheldEarnings,
  account: makeSampleId("acc"),
  account_name: "Workshop",
  node_name: "workshop-1",
  released_by: null,
};

export const operatorWithheldShareRoutes = declareRoutes({
  listPlatformWithheld: {
    at: "GET /console/api/operator/withheld",
    summary: "List withheld shares of all hosts",
    description: "Newest request first.",
    guard: "operator",
    query: PlatformWithheldQuery,
    words: {
      host: "Only withheld earnings of this host account (`acc_…`).",
      node: "Only withheld earnings of this node (`node_…`).",
      open: "`true` leaves out released shares.",
    },
    answer: { description: "A page of withheld shares.", json: PlatformWithheldList, example: sampleList(sample) },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  releaseWithheld: {
    at: "POST /console/api/operator/withheld/release",
    summary: "Release withheld shares",
    description:
      "Pays the shares to their hosts from the reserve. Shares that were released before, and requests without a withheld share, are passed over, so repeating the call has no effect.",
    guard: "operator",
    body: {
      fields: ReleaseWithheldSharesFields,
      example: { node: makeSampleId("node"), note: "The failures were ours." },
    },
    answer: { description: "The sum.", json: Released, example: { shares: 3, amount_micro: "1.470000" } },
  },
});
