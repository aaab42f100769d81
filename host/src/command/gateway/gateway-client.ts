/** A client for the gateway's node API. */
import type { NodeRouteMap, RouteMethodAndPath, RouteRequest } from "@tollgate/api/client-types.ts";
import { z } from "zod";
import type { PlaneCredentials } from "../../agent/plane-connection.ts";
import type { Clock } from "../../clock.ts";
import { callGateway, GatewayRefusal, GatewayUnreachable, normalizeGatewayAddress } from "./call-gateway.ts";
import * as answers from "./gateway-answers.ts";

const PAGES_MAX = 100;
/** The time limit for `try`, which waits for an engine's complete answer. */
const TRY_MS_MAX = 180_000;

type At = keyof NodeRouteMap & RouteMethodAndPath;
type NewNode = RouteRequest<"POST /node/v1/nodes">["body"];
type TryOrder = RouteRequest<"POST /node/v1/nodes/{id}/try">["body"];
export type ActivityRange = NonNullable<NonNullable<RouteRequest<"GET /node/v1/insight">["query"]>["range"]>;
type JobsQuery = NonNullable<RouteRequest<"GET /node/v1/nodes/{id}/jobs">["query"]>;
type WithheldQuery = NonNullable<RouteRequest<"GET /node/v1/withheld">["query"]>;
export type EarningsQuery = NonNullable<RouteRequest<"GET /node/v1/earnings">["query"]>;

/** The gateway's response time and its clock. */
export interface GatewayPing {
  elapsedMs: number;
  /** The gateway's time in Unix milliseconds, cut to the second. Undefined if the response had no date. */
  serverTimeMs: number | undefined;
}

export interface GatewayClient {
  readonly address: string;
  /** Requests a public resource, to test whether a gateway answers. */
  ping(clock: Clock): Promise<GatewayPing>;
  register(node: NewNode): Promise<answers.Node>;
  nodes(): Promise<answers.Node[]>;
  node(id: string): Promise<answers.Node>;
  models(): Promise<answers.CatalogueModel[]>;
  elect(id: string, models: string[]): Promise<answers.Node>;
  pause(id: string): Promise<answers.Node>;
  resume(id: string): Promise<answers.Node>;
  rename(id: string, name: string): Promise<answers.Node>;
  retire(id: string): Promise<answers.Node>;
  stats(id: string): Promise<answers.NodeStatsAnswer>;
  /** Undefined if the gateway is too old to have this endpoint. */
  insight(range: ActivityRange): Promise<answers.HostActivity | undefined>;
  nodeInsight(id: string, range: ActivityRange): Promise<answers.NodeActivity | undefined>;
  jobs(id: string, query: JobsQuery): Promise<answers.JobsPage>;
  market(node: string | undefined): Promise<answers.Market>;
  earnings(query: EarningsQuery): Promise<answers.EarningsPage>;
  withheld(query: WithheldQuery): Promise<z.infer<typeof answers.WithheldPage>>;
  tryNode(id: string, order: TryOrder): Promise<answers.NodeTrialResult>;
  credentials(id: string): Promise<PlaneCredentials>;
}

/**
 * Nodes are listed in pages, so the answer has a cursor. The catalogue (the models that nodes can serve) fits into one
 * answer.
 */
const NodePage = z.object({ data: z.array(answers.Node), next_cursor: z.string().nullish() });
const Catalogue = z.object({ data: z.array(answers.CatalogueModel) });

export function gatewayClient(options: { gateway: string; token: string; timeoutMs?: number }): GatewayClient {
  const address = normalizeGatewayAddress(options.gateway);
  const { token, timeoutMs } = options;

  const call = async <Of extends At, T>(
    at: Of,
    answer: z.ZodType<T>,
    sent: RouteRequest<Of>,
    patienceMs = timeoutMs,
  ): Promise<T> => {
    const { method, path, body } = requestOf(at, sent);
    return (await callGateway({ url: `${address}${path}`, method, body, answer, token, timeoutMs: patienceMs })).data;
  };

  return {
    address,
    async ping(clock) {
      const started = clock.monotonic();
      const { headers } = await callGateway({
        url: `${address}/v1/catalog/rates`,
        answer: z.object({ object: z.literal("list"), payout_share: z.number() }),
        timeoutMs,
      });
      const elapsedMs = clock.monotonic() - started;
      const serverTimeMs = Date.parse(headers.get("date") ?? "");
      return { elapsedMs, serverTimeMs: Number.isNaN(serverTimeMs) ? undefined : serverTimeMs };
    },
    register: (node) => call("POST /node/v1/nodes", answers.Node, { body: node }),
    async nodes() {
      const found: answers.Node[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < PAGES_MAX; page++) {
        const { data, next_cursor } = await call("GET /node/v1/nodes", NodePage, { query: { cursor } });
        found.push(...data);
        if (next_cursor == null) return found;
        cursor = next_cursor;
      }
      throw new GatewayUnreachable(`the gateway's list of nodes has more than ${PAGES_MAX} pages`);
    },
    node: (id) => call("GET /node/v1/nodes/{id}", answers.Node, { path: { id } }),
    models: async () => (await call("GET /node/v1/models", Catalogue, {})).data,
    elect: (id, models) => call("PUT /node/v1/nodes/{id}/elections", answers.Node, { path: { id }, body: { models } }),
    pause: (id) => call("POST /node/v1/nodes/{id}/pause", answers.Node, { path: { id } }),
    resume: (id) => call("POST /node/v1/nodes/{id}/resume", answers.Node, { path: { id } }),
    rename: (id, name) => call("PATCH /node/v1/nodes/{id}", answers.Node, { path: { id }, body: { name } }),
    retire: (id) => call("POST /node/v1/nodes/{id}/retire", answers.Node, { path: { id } }),
    insight: (range) => unlessOlder(call("GET /node/v1/insight", answers.HostActivity, { query: { range } })),
    nodeInsight: (id, range) =>
      unlessOlder(call("GET /node/v1/nodes/{id}/insight", answers.NodeActivity, { path: { id }, query: { range } })),
    jobs: (id, query) => call("GET /node/v1/nodes/{id}/jobs", answers.JobsPage, { path: { id }, query }),
    market: (node) => call("GET /node/v1/market", answers.Market, { query: { node } }),
    stats: (id) => call("GET /node/v1/nodes/{id}/stats", answers.NodeStatsAnswer, { path: { id } }),
    earnings: (query) => call("GET /node/v1/earnings", answers.EarningsPage, { query }),
    withheld: (query) => call("GET /node/v1/withheld", answers.WithheldPage, { query }),
    tryNode: (id, order) =>
      call(
        "POST /node/v1/nodes/{id}/try",
        answers.NodeTrialResult,
        { path: { id }, body: order },
        timeoutMs ?? TRY_MS_MAX,
      ),
    async credentials(id) {
      const found = await call("POST /node/v1/nodes/{id}/credentials", answers.Credentials, { path: { id } });
      return { url: found.plane_url, jwt: found.jwt, seed: found.seed, expiresAt: found.expires_at * 1000 };
    },
  };
}

/** Returns undefined for a 404 that does not mean a missing node: an older gateway does not have the endpoint. */
async function unlessOlder<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof GatewayRefusal && error.status === 404 && error.code !== "node_not_found") return undefined;
    throw error;
  }
}

/** Fills an endpoint such as `GET /node/v1/nodes/{id}` with its parameters. */
function requestOf(at: At, sent: unknown): { method: string; path: string; body: object | undefined } {
  const {
    path = {},
    query = {},
    body,
  } = sent as {
    path?: Record<string, string>;
    query?: Record<string, string | number | undefined>;
    body?: object;
  };
  const [method = "", place = ""] = at.split(" ");
  const filled = place.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return {
    method,
    path: given.size === 0 ? filled : `${filled}?${given}`,
    // A call without a body sends an empty object.
    body: method === "GET" ? undefined : (body ?? {}),
  };
}
