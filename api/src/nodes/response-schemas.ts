/** Answers that the node API and the console API share: nodes, their work, and earnings. */
import { z } from "zod";
import { AsOfField, Count, Id, Money, makeListSchema, RequestOutcome, Time } from "../common-schemas.ts";
import {
  FINISH_REASONS,
  MODEL_CLASSES,
  MODEL_KINDS,
  NODE_STATES,
  SPOT_CHECK_METHODS,
  SPOT_CHECK_VERDICTS,
  WITHHELD_REASONS,
} from "../enumerations.ts";

const Facts = z.record(z.string(), z.unknown());

export const NodeState = z
  .enum(NODE_STATES)
  .describe(
    "`registered`: no model elected (chosen) yet. `ready`: models elected, not connected. `online`: connected. `paused`: by its host. `quarantined`: by the platform, until an operator releases it. `retired`: permanently removed.",
  );

export const Quarantine = z
  .strictObject({
    reason: z.string(),
    evidence: Facts.describe("The evidence. Its fields depend on the reason."),
    at: Time,
  })
  .describe("Why the node gets no requests.");

export const Probation = z
  .strictObject({
    answers: Count.describe("Good answers since the node was registered or since its last quarantine."),
    needed: Count.describe("Number of good answers that ends the probation."),
  })
  .describe("A new node gets one request at a time during its probation.");

export const NodeWithheldReason = z
  .enum(["host_quarantine"])
  .describe(
    "Why a node in good standing gets no requests. `host_quarantine`: it was registered while another node of its host was in quarantine. It gets requests when that node is released or an operator clears this one.",
  );

/** The fields of a node in lists. */
const listed = {
  id: Id("node"),
  object: z.literal("node"),
  name: z.string().describe("Unique among the host's nodes."),
  state: NodeState,
  models: z.array(z.string()).describe("The models that the node elected (chose) to serve."),
  agent: z.string().describe("The agent's name and version at its latest registration."),
  quarantine: Quarantine.nullable(),
  probation: Probation.nullable().describe("Null after the probation."),
  withheld: NodeWithheldReason.nullable(),
  created_at: Time,
};

export const ListedNode = z
  .strictObject(listed)
  .describe("A node without its hardware facts; get the node itself to read those.");

export const Node = z.strictObject({ ...listed, hardware: Facts.describe("The machine, as described by the agent.") });

export const NodeList = makeListSchema(ListedNode);

const Speed = z.number().nullable();

export const NodeStats = z.strictObject({
  object: z.literal("node_stats"),
  node: Id("node"),
  state: NodeState,
  connected: z.boolean(),
  slots: Count.describe("Number of requests that the node can serve at a time; 0 if not connected."),
  busy: Count.describe("How many of the slots are in use."),
  engine_slots: Count.nullable().describe(
    "How many requests the engine would take at a time, if the node takes fewer because its engine left long pauses between tokens; otherwise null.",
  ),
  draining: z.boolean().describe("The node finishes its requests and accepts no new ones."),
  models: z
    .array(
      z.strictObject({
        model: z.string(),
        ttft_p50_ms: Speed.describe("Median time to first token; null if not measured yet."),
        tps_p50: Speed.describe("Median tokens per second; null if not measured yet."),
      }),
    )
    .describe("The speed of each elected model on this node, measured by the gateway."),
  today: z
    .strictObject({ requests: Count, prompt_tokens: Count, completion_tokens: Count, earned_micro: Money })
    .describe("Figures since midnight UTC."),
  reliability: z
    .strictObject({
      jobs: Count.describe("Number of recent jobs counted."),
      failures: Count.describe("How many of these requests failed on the node."),
      jobs_window: Count.describe("Maximum number of jobs counted."),
      failures_max: Count.describe("Number of failures that leads to quarantine."),
    })
    .describe("As seen by the gateway that answers, since it started."),
  last_day: z
    .strictObject({
      answers: Count.describe("Requests answered well."),
      failures: Count.describe("Jobs failed, silences not counted."),
      silences: Count.describe("Requests during which the node fell silent."),
      refusals: Count.describe("Offers refused although the node had a free slot."),
      late_acceptances: Count.describe("Offers not accepted within 250 ms, so that another node was asked."),
    })
    .describe("The node's results of the last 24 hours, summed over all gateways."),
  agent_outdated: z
    .boolean()
    .describe(
      "The node gets no requests until its agent is updated: it is on probation, and its agent needs the prompt to accept.",
    ),
  quarantine: Quarantine.nullable(),
  probation: Probation.nullable(),
  withheld: NodeWithheldReason.nullable(),
});

export const NodeDetail = z.strictObject({ ...Node.shape, stats: NodeStats, ...AsOfField });

export const NodeModel = z.strictObject({
  model: z.string(),
  kind: z.enum(MODEL_KINDS),
  class: z.enum(MODEL_CLASSES),
  context_limit: Count.nullable(),
  build: z.string().describe("The exact build to run."),
  tokenizer: z.string(),
  price_in_micro_1m: Count.nullable().describe("Microdollars per million input tokens."),
  price_out_micro_1m: Count.nullable().describe("Microdollars per million output tokens."),
});

export const NodeModelList = makeListSchema(NodeModel);

export const Earning = z.strictObject({
  request_id: Id("req"),
  node: Id("node").nullable(),
  model: z.string().nullable(),
  finished_at: Time,
  prompt_tokens: Count,
  completion_tokens: Count,
  outcome: RequestOutcome,
  earned_micro: Money,
  own: z.boolean().describe("Whether the request came from a builder account of the host's own owners."),
});

export const EarningList = makeListSchema(Earning, {
  balance: z
    .strictObject({
      earned_micro: Money.describe("Total earnings."),
      own_micro: Money.describe("The part earned from requests by the host's own owners."),
      paid_out_micro: Money.describe("The part that was paid out."),
      set_off_micro: Money.describe(
        "The part deducted for debts of the owners' builder accounts after refunds or disputes.",
      ),
      pending_micro: Money.describe("The part still owed."),
      held_back_micro: Money.describe("The part of the pending amount that is too recent to be paid out."),
      withheld_micro: Money.describe("Withheld shares that were not released. No part of the other amounts."),
    })
    .describe("The balance of the whole account, regardless of filters."),
  today_micro: Money.describe("Earned since midnight UTC by the node in the query; without one, by all nodes."),
});

export const WithheldShare = z
  .strictObject({
    request_id: Id("req"),
    node: Id("node"),
    model: z.string().nullable(),
    outcome: RequestOutcome.nullable(),
    withheld_at: Time,
    amount_micro: Money,
    reason: z.enum(WITHHELD_REASONS),
    explanation: z.string().describe("The reason in words."),
    taken_back: z.boolean().describe("Whether the share was paid first and taken back later."),
    released_at: Time.nullable().describe("When an operator released the share to the host."),
    note: z.string().nullable().describe("What the operator wrote about the release."),
  })
  .describe(
    "A host's share of one request that was not paid out to it. Model and outcome are null once the request's record is deleted.",
  );
export const WithheldList = makeListSchema(WithheldShare);

export const CheckMethod = z
  .enum(SPOT_CHECK_METHODS)
  .describe(
    "`text`: the verifier scored the whole answer. `next`: at a few positions. `meaning`, `words`, `vectors`: it answered the same request, and the two answers were compared.",
  );

export const SpotCheck = z
  .strictObject({
    request_id: Id("req"),
    model: z.string(),
    checked_at: Time,
    method: CheckMethod,
    score: z
      .number()
      .nullable()
      .describe(
        "The mean figure of the check; null where the answer was too short. Compare only with the same method.",
      ),
    verdict: z.enum(SPOT_CHECK_VERDICTS),
    explanation: z.string().describe("The verdict in words."),
  })
  .describe("One answer that another host's node checked.");
export const SpotCheckList = makeListSchema(SpotCheck);

export const Receipt = z
  .strictObject({
    object: z.literal("usage.receipt"),
    version: z.literal(1),
    request_id: Id("req"),
    endpoint: z.string(),
    model: z.string().nullable(),
    build: z.string().nullable(),
    tokenizer: z.string().nullable(),
    outcome: RequestOutcome,
    finish_reason: z.enum(FINISH_REASONS).nullable(),
    prompt_tokens: Count,
    completion_tokens: Count,
    reasoning_tokens: Count,
    price_version: Count.nullable(),
    hold_pico: z.string().describe("A whole number of picodollars as a decimal string, like the next two fields."),
    charge_pico: z.string(),
    host_share_pico: z.string(),
    created_at: z.string().describe("ISO 8601, in UTC."),
    finished_at: z.string(),
    key_id: z.string().describe("The ID of the signing key, published at /.well-known/tollgate-receipts."),
    signature: z.string().describe("Ed25519 signature over all other fields as canonical JSON, in base64url."),
  })
  .describe("A signed record of a request's token counts and charge. It can be verified offline.");

export const NodeTryResult = z
  .strictObject({
    object: z.literal("node_try"),
    model: z.string(),
    text: z.string(),
    vendor_reasoning_content: z
      .string()
      .optional()
      .describe("Only for a model that separates thinking from the answer."),
    vectors: z
      .strictObject({ count: Count, width: Count })
      .optional()
      .describe("Only for an embedding model: number and length of the vectors."),
    finish_reason: z.enum(FINISH_REASONS),
    prompt_tokens: Count,
    completion_tokens: Count,
    ttft_ms: Speed,
    tps: Speed,
  })
  .describe("The test is free and leaves no record.");

export const NodeCredentials = z.strictObject({
  plane_url: z.string().describe("The dispatch plane's URL: `nats://` or `tls://`, several separated by commas."),
  jwt: z.string().describe("A NATS user JWT, valid for the node's own subjects."),
  seed: z.string().describe("The nkey seed of the JWT."),
  expires_at: Time,
  subjects: z.strictObject({ publish: z.array(z.string()), subscribe: z.array(z.string()) }),
  builds: z
    .array(z.strictObject({ model: z.string(), build: z.string(), tokenizer: z.string() }))
    .describe("The elected models with the builds to run."),
});
