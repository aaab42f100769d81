/** A client of the gateway's node API: registration, elections, credentials for the dispatch plane. */
import { z } from "zod";
import { parseJson, readText } from "../http-body.ts";
import type { PlaneCredentials } from "./plane.ts";

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const PAGES_MAX = 100;

const Node = z.object({
  id: z.string().regex(/^node_[0-9A-Za-z]{1,64}$/),
  name: z.string(),
  state: z.string().optional(),
});
const NodePage = z.object({ data: z.array(Node), next_cursor: z.string().nullish() });
const Credentials = z.object({
  plane_url: z.string().min(1),
  jwt: z.string().min(1),
  seed: z.string().min(1),
  expires_at: z.number().positive(),
});
const ErrorEnvelope = z.object({
  error: z.object({ message: z.string(), type: z.string(), code: z.string().nullish() }),
});

export type RegisteredNode = z.infer<typeof Node>;

export interface NewNode {
  name: string;
  hardware: Record<string, string | number>;
  /** The agent's name and version. */
  agent: string;
}

/** The gateway answered and said no. */
export class NodeApiError extends Error {
  override name = "NodeApiError";
  readonly status: number;
  /** The gateway's stable code, e.g. `invalid_host_token`; undefined where it gave none. */
  readonly code: string | undefined;
  constructor(status: number, code: string | undefined, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The gateway could not be reached, or what answered was no gateway. */
export class GatewayUnreachable extends Error {
  override name = "GatewayUnreachable";
}

export interface NodeApi {
  register(node: NewNode): Promise<RegisteredNode>;
  nodes(): Promise<RegisteredNode[]>;
  elect(nodeId: string, models: string[]): Promise<void>;
  credentials(nodeId: string): Promise<PlaneCredentials>;
}

export function nodeApi(options: { gateway: string; token: string; timeoutMs?: number }): NodeApi {
  const base = `${gatewayAddress(options.gateway)}/node/v1`;

  const call = async <T>(schema: z.ZodType<T>, method: string, path: string, body?: object): Promise<T> => {
    const answer = await ask(`${base}${path}`, {
      method,
      redirect: "error",
      signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
      headers: {
        authorization: `Bearer ${options.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.status >= 400) throw refusal(answer);
    const result = schema.safeParse(answer.json);
    if (!result.success) throw new GatewayUnreachable(`${base}${path} did not answer as a Tollgate gateway does`);
    return result.data;
  };
  const at = (nodeId: string): string => `/nodes/${encodeURIComponent(nodeId)}`;

  return {
    register: (node) => call(Node, "POST", "/nodes", node),
    async nodes() {
      const found: RegisteredNode[] = [];
      let query = "";
      for (let page = 0; page < PAGES_MAX; page++) {
        const { data, next_cursor } = await call(NodePage, "GET", `/nodes${query}`);
        found.push(...data);
        if (next_cursor == null) break;
        query = `?cursor=${encodeURIComponent(next_cursor)}`;
      }
      return found;
    },
    async elect(nodeId, models) {
      await call(z.unknown(), "PUT", `${at(nodeId)}/elections`, { models });
    },
    async credentials(nodeId) {
      const found = await call(Credentials, "POST", `${at(nodeId)}/credentials`, {});
      return { url: found.plane_url, jwt: found.jwt, seed: found.seed, expiresAt: found.expires_at * 1000 };
    },
  };
}

/** The gateway's address as people paste it: with or without a slash or the `/v1` of the public API at its end. */
export function gatewayAddress(text: string): string {
  return text.replace(/\/+$/, "").replace(/\/v1$/, "");
}

interface Answer {
  status: number;
  json: unknown;
}

async function ask(url: string, init: RequestInit): Promise<Answer> {
  try {
    const response = await fetch(url, init);
    const text = await readText(response, ANSWER_BYTES_MAX);
    return { status: response.status, json: parseJson(text) };
  } catch (cause) {
    throw new GatewayUnreachable(`cannot reach the gateway at ${new URL(url).origin}: ${reason(cause)}`, { cause });
  }
}

function refusal(answer: Answer): NodeApiError {
  const envelope = ErrorEnvelope.safeParse(answer.json);
  if (!envelope.success) return new NodeApiError(answer.status, undefined, `the gateway answered ${answer.status}`);
  const { code, message } = envelope.data.error;
  return new NodeApiError(answer.status, code ?? undefined, message.replaceAll(/\s+/g, " "));
}

/** The innermost reason of a failed fetch, in words: `ECONNREFUSED` and the like stay recognisable. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  if (error.name === "TimeoutError") return "no answer in time";
  const cause = error.cause as (Error & { code?: string }) | undefined;
  return cause?.code ?? cause?.message ?? error.message;
}
