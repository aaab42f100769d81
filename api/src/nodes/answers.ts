/** What both doors of a host answer with: its nodes, their work, what they earned. */
import { z } from "zod";
import { FINISH_REASONS, MODEL_CLASSES, MODEL_KINDS, NODE_STATES } from "../states.ts";
import { Count, Id, listOf, Money, RequestOutcome, Time } from "../values.ts";

const Facts = z.record(z.string(), z.unknown());

export const NodeState = z
  .enum(NODE_STATES)
  .describe(
    "`registered`: no model elected. `ready`: elected, not connected. `online`: connected. `paused` by its host. `quarantined` by the platform; an operator releases it. `retired` for good.",
  );

export const Quarantine = z
  .strictObject({
    reason: z.string(),
    evidence: Facts.describe("What was seen. Its fields depend on the reason."),
    at: Time,
  })
  .describe("Why the node gets no work.");

export const Probation = z
  .strictObject({
    answers: Count.describe("Requests that it answered well, since it was registered or since its last quarantine."),
    needed: Count.describe("So many end the probation."),
  })
  .describe("A new node gets one request at a time.");

export const Withheld = z
  .enum(["host_quarantine"])
  .describe(
    "Why a node in good standing gets no work. `host_quarantine`: it was registered while another node of its host was in quarantine; it works once that one is released, or an operator has looked.",
  );

/** What lists show, too. */
const listed = {
  id: Id("node"),
  object: z.literal("node"),
  name: z.string().describe("One of a kind among the host's nodes."),
  state: NodeState,
  models: z.array(z.string()).describe("The models it elected to serve."),
  agent: z.string().describe("The agent's own name and version."),
  quarantine: Quarantine.nullable(),
  probation: Probation.nullable().describe("Null once the node is trusted."),
  withheld: Withheld.nullable(),
  created_at: Time,
};

export const ListedNode = z
  .strictObject(listed)
  .describe("A node without the facts of its machine, which reading the node itself tells.");

export const Node = z.strictObject({ ...listed, hardware: Facts.describe("As its agent described the machine.") });

export const NodeList = listOf(ListedNode);

const Speed = z.number().nullable();

export const NodeStats = z.strictObject({
  object: z.literal("node_stats"),
  node: Id("node"),
  state: NodeState,
  connected: z.boolean(),
  slots: Count.describe("How many requests it takes at once; 0 when it is not connected."),
  busy: Count.describe("How many of them are taken."),
  draining: z.boolean().describe("It finishes what it has and takes nothing new."),
  models: z
    .array(
      z.strictObject({
        model: z.string(),
        ttft_p50_ms: Speed.describe("Median time to the first token; null before any was measured."),
        tps_p50: Speed.describe("Median tokens per second; null before any were measured."),
      }),
    )
    .describe("Each elected model's speed on this node, measured by the gateway."),
  today: z
    .strictObject({ requests: Count, prompt_tokens: Count, completion_tokens: Count, earned_micro: Money })
    .describe("Since midnight UTC."),
  reliability: z
    .strictObject({
      jobs: Count.describe("How many of the last jobs are counted."),
      failures: Count.describe("How many of them the node failed."),
      jobs_window: Count.describe("How many jobs are looked at, at most."),
      failures_max: Count.describe("So many failures among them lead to quarantine."),
    })
    .describe("As the gateway that answers has seen it since it started."),
  quarantine: Quarantine.nullable(),
  probation: Probation.nullable(),
  withheld: Withheld.nullable(),
});

export const NodeDetail = z.strictObject({ ...Node.shape, stats: NodeStats });

export const NodeModel = z.strictObject({
  model: z.string(),
  kind: z.enum(MODEL_KINDS),
  class: z.enum(MODEL_CLASSES),
  context_limit: Count.nullable(),
  build: z.string().describe("What exactly has to be run."),
  tokenizer: z.string(),
  price_in_micro_1m: Count.nullable().describe("Microdollars per million input tokens."),
  price_out_micro_1m: Count.nullable().describe("Microdollars per million output tokens."),
});

export const NodeModelList = listOf(NodeModel);

export const Earning = z.strictObject({
  request_id: Id("req"),
  node: Id("node").nullable(),
  model: z.string().nullable(),
  finished_at: Time,
  prompt_tokens: Count,
  completion_tokens: Count,
  outcome: RequestOutcome,
  earned_micro: Money,
  own: z.boolean().describe("Whether a builder account of the host's own owner asked for it."),
});

export const EarningList = listOf(Earning, {
  balance: z
    .strictObject({
      earned_micro: Money.describe("Everything ever earned."),
      own_micro: Money.describe("What of it came from requests of the host's own owners."),
      paid_out_micro: Money.describe("What of it was paid out."),
      set_off_micro: Money.describe(
        "What of it paid what builder accounts of the owners owed after refunds or disputes.",
      ),
      pending_micro: Money.describe("What of it is still owed."),
      held_back_micro: Money.describe("What of that is too young to be paid out."),
    })
    .describe("Of the whole account, whatever the filter."),
  today_micro: Money.describe("Earned since midnight UTC, by the node that the filter names or by all."),
});

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
    hold_pico: z.string().describe("Picodollars, a whole number as a decimal string, like the two that follow."),
    charge_pico: z.string(),
    host_share_pico: z.string(),
    created_at: z.string().describe("As ISO 8601 writes it, in UTC."),
    finished_at: z.string(),
    key_id: z.string().describe("Which of /.well-known/tollgate-receipts signed it."),
    signature: z.string().describe("Ed25519 over every other field as canonical JSON; base64url."),
  })
  .describe("What a request was counted and charged, signed: it can be checked without asking the gateway.");

export const NodeTry = z
  .strictObject({
    object: z.literal("node_try"),
    model: z.string(),
    text: z.string(),
    vendor_reasoning_content: z.string().optional().describe("Only for a model that thinks apart."),
    vectors: z
      .strictObject({ count: Count, width: Count })
      .optional()
      .describe("Only for an embedding model: how many vectors came, and how wide."),
    finish_reason: z.enum(FINISH_REASONS),
    prompt_tokens: Count,
    completion_tokens: Count,
    ttft_ms: Speed,
    tps: Speed,
  })
  .describe("Nobody pays for it and it leaves no record.");

export const NodeCredentials = z.strictObject({
  plane_url: z.string().describe("Where the agent connects: `nats://` or `tls://`, several separated by commas."),
  jwt: z.string().describe("A NATS user JWT that is good for the node's own subjects."),
  seed: z.string().describe("The nkey seed that belongs to it."),
  expires_at: Time,
  subjects: z.strictObject({ publish: z.array(z.string()), subscribe: z.array(z.string()) }),
  builds: z
    .array(z.strictObject({ model: z.string(), build: z.string(), tokenizer: z.string() }))
    .describe("What the node has elected, as it has to run it."),
});
