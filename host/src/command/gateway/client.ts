/** A client of the gateway's node API: everything a host can ask for. */
import { z } from "zod";
import type { PlaneCredentials } from "../../agent/plane.ts";
import type { Clock } from "../../clock.ts";
import { type CallOptions, callGateway, GatewayUnreachable, gatewayAddress } from "./call.ts";
import * as shapes from "./shapes.ts";

const PAGES_MAX = 100;
/** A try waits for a whole answer of an engine. */
const TRY_MS_MAX = 180_000;

export interface NewNode {
  name: string;
  hardware: Record<string, unknown>;
  /** The agent's name and version. */
  agent: string;
}

export interface EarningsQuery {
  node?: string | undefined;
  /** Unix seconds, inclusive. */
  from?: number | undefined;
  /** Unix seconds, exclusive. */
  to?: number | undefined;
  cursor?: string | undefined;
  limit?: number | undefined;
}

export interface TryOrder {
  model: string;
  prompt?: string | undefined;
  max_tokens?: number | undefined;
}

/** How long the gateway took to answer, and what its clock said. */
export interface Ping {
  elapsedMs: number;
  /** Unix milliseconds, cut to the second; undefined where the answer had no date. */
  serverTimeMs: number | undefined;
}

export interface GatewayClient {
  readonly address: string;
  /** Asks for something public: whether a gateway is there at all. */
  ping(clock: Clock): Promise<Ping>;
  register(node: NewNode): Promise<shapes.Node>;
  nodes(): Promise<shapes.Node[]>;
  node(id: string): Promise<shapes.Node>;
  models(): Promise<shapes.CatalogueModel[]>;
  elect(id: string, models: string[]): Promise<shapes.Node>;
  pause(id: string): Promise<shapes.Node>;
  resume(id: string): Promise<shapes.Node>;
  stats(id: string): Promise<shapes.Stats>;
  earnings(query: EarningsQuery): Promise<shapes.EarningsPage>;
  tryNode(id: string, order: TryOrder): Promise<shapes.Trial>;
  credentials(id: string): Promise<PlaneCredentials>;
}

export function gatewayClient(options: { gateway: string; token: string; timeoutMs?: number }): GatewayClient {
  const address = gatewayAddress(options.gateway);
  const { token, timeoutMs } = options;

  const call = async <T>(answer: z.ZodType<T>, path: string, more: Partial<CallOptions<T>> = {}): Promise<T> =>
    (await callGateway({ url: `${address}/node/v1${path}`, answer, token, timeoutMs, ...more })).data;
  const at = (id: string): string => `/nodes/${encodeURIComponent(id)}`;

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
    register: (node) => call(shapes.Node, "/nodes", { method: "POST", body: node }),
    async nodes() {
      const found: shapes.Node[] = [];
      let query = "";
      for (let page = 0; page < PAGES_MAX; page++) {
        const { data, next_cursor } = await call(shapes.NodePage, `/nodes${query}`);
        found.push(...data);
        if (next_cursor == null) return found;
        query = `?cursor=${encodeURIComponent(next_cursor)}`;
      }
      throw new GatewayUnreachable(`the gateway's list of nodes has more than ${PAGES_MAX} pages`);
    },
    node: (id) => call(shapes.Node, at(id)),
    models: async () => (await call(shapes.CatalogueList, "/models")).data,
    elect: (id, models) => call(shapes.Node, `${at(id)}/elections`, { method: "PUT", body: { models } }),
    pause: (id) => call(shapes.Node, `${at(id)}/pause`, { method: "POST", body: {} }),
    resume: (id) => call(shapes.Node, `${at(id)}/resume`, { method: "POST", body: {} }),
    stats: (id) => call(shapes.Stats, `${at(id)}/stats`),
    earnings: (query) => call(shapes.EarningsPage, `/earnings${queryOf(query)}`),
    tryNode: (id, order) =>
      call(shapes.Trial, `${at(id)}/try`, { method: "POST", body: order, timeoutMs: timeoutMs ?? TRY_MS_MAX }),
    async credentials(id) {
      const found = await call(shapes.Credentials, `${at(id)}/credentials`, { method: "POST", body: {} });
      return { url: found.plane_url, jwt: found.jwt, seed: found.seed, expiresAt: found.expires_at * 1000 };
    },
  };
}

function queryOf(query: EarningsQuery): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  return params.size === 0 ? "" : `?${params}`;
}
