/** Test helper: a stub of the gateway's node API with one account and one node. Tests can change its answers. */
import type { ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { type StubRequest, sendJson, stubServer } from "../../testing/stub-http.ts";
import type { NodeStatsAnswer } from "../gateway/gateway-answers.ts";

export const STUB_HOST_TOKEN = "tht_live_abcdefghijkl_secretsecretsecret";
export const STUB_NODE_ID = "node_06e3a1b2c3d4e5f6g7h8j9kmnp";

export const STUB_NODE = {
  id: STUB_NODE_ID,
  object: "node",
  name: "box",
  state: "ready",
  models: ["tiny-3b"],
  agent: "tollgate-host/0.0.0",
  quarantine: null,
};

const model = (id: string, prices: [number, number | null], kind = "generation") => ({
  model: id,
  kind,
  class: id.split("-")[0],
  context_limit: 8192,
  build: `${id}-1`,
  tokenizer: kind === "embedding" ? "xlm-roberta" : "llama3",
  price_in_micro_1m: prices[0],
  price_out_micro_1m: prices[1],
});
const CATALOGUE = [
  model("tiny-3b", [20_000, 40_000]),
  model("reason-32b", [100_000, 300_000]),
  model("embed-m3", [10_000, null], "embedding"),
];

export const STUB_NODE_STATS: NodeStatsAnswer = {
  object: "node_stats",
  node: STUB_NODE_ID,
  state: "online",
  connected: true,
  slots: 4,
  busy: 1,
  draining: false,
  models: [{ model: "tiny-3b", ttft_p50_ms: 210, tps_p50: 45.24 }],
  today: { requests: 12, prompt_tokens: 1234, completion_tokens: 5678, earned_micro: "123.450000" },
  reliability: { jobs: 12, failures: 1, jobs_window: 20, failures_max: 5 },
  last_day: { answers: 11, failures: 1, silences: 0, refusals: 3, late_acceptances: 2 },
  quarantine: null,
};

export interface StubGateway {
  url: string;
  /** All requests in order, such as `GET /node/v1/nodes`. */
  calls: string[];
  bodies: unknown[];
  /** Answers that override the defaults, by `METHOD /path` below /node/v1. */
  answers: Record<string, object | Answering>;
}

type Answering = (request: StubRequest, response: ServerResponse) => void;

export const answerWithRefusal =
  (status: number, code: string, message: string): Answering =>
  (_request, response) =>
    sendJson(response, { error: { message, type: code, code } }, status);

export async function stubGateway(t: TestContext): Promise<StubGateway> {
  const gateway: StubGateway = { url: "", calls: [], bodies: [], answers: {} };
  const usual: Record<string, object> = {
    "GET /v1/catalog/rates": { object: "list", payout_share: 0.7, data: [] },
    "GET /nodes": { object: "list", data: [STUB_NODE], next_cursor: null },
    "POST /nodes": { ...STUB_NODE, state: "registered", models: [] },
    [`GET /nodes/${STUB_NODE_ID}`]: STUB_NODE,
    [`PUT /nodes/${STUB_NODE_ID}/elections`]: STUB_NODE,
    [`POST /nodes/${STUB_NODE_ID}/pause`]: { ...STUB_NODE, state: "paused" },
    [`POST /nodes/${STUB_NODE_ID}/resume`]: STUB_NODE,
    [`GET /nodes/${STUB_NODE_ID}/stats`]: STUB_NODE_STATS,
    "GET /models": { object: "list", data: CATALOGUE },
  };
  gateway.url = await stubServer(t, (request, response) => {
    const [path = ""] = request.path.split("?");
    const call = `${request.method} ${path.replace("/node/v1", "")}`;
    gateway.calls.push(`${request.method} ${request.path.replace("/node/v1", "")}`);
    if (request.body !== "") gateway.bodies.push(JSON.parse(request.body));
    const isPublic = path.startsWith("/v1/");
    if (!isPublic && request.headers.authorization !== `Bearer ${STUB_HOST_TOKEN}`)
      return answerWithRefusal(
        401,
        "invalid_host_token",
        "Missing, malformed, unknown or revoked host token.",
      )(request, response);
    const answer = gateway.answers[call] ?? usual[call];
    if (answer === undefined) return answerWithRefusal(404, "not_found", `No such path: ${call}`)(request, response);
    if (typeof answer === "function") return (answer as Answering)(request, response);
    sendJson(response, answer);
  });
  return gateway;
}
