/**
 * Makes one HTTP call to the gateway. A call fails either with the gateway's error or because the gateway is
 * unreachable.
 */
import { z } from "zod";
import { parseJson, readText } from "../../read-response-body.ts";

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** The JSON object in every error response. */
const ErrorEnvelope = z.object({
  error: z.object({ message: z.string(), type: z.string(), code: z.string().nullish() }),
});

/** The gateway answered with an error. */
export class GatewayRefusal extends Error {
  override name = "GatewayRefusal";
  readonly status: number;
  /** The gateway's error code, such as `invalid_host_token`. Codes never change. Undefined if the response has none. */
  readonly code: string | undefined;
  constructor(status: number, code: string | undefined, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The gateway could not be reached, or the answer came from another server. */
export class GatewayUnreachable extends Error {
  override name = "GatewayUnreachable";
}

interface CallOptions<T> {
  url: string;
  answer: z.ZodType<T>;
  method?: string;
  token?: string | undefined;
  body?: object | undefined;
  timeoutMs?: number | undefined;
}

export async function callGateway<T>(options: CallOptions<T>): Promise<{ data: T; headers: Headers }> {
  const { url, token, body } = options;
  const answer = await ask(url, {
    method: options.method ?? "GET",
    redirect: "error",
    signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (answer.status >= 400) throw refusal(answer);
  const result = options.answer.safeParse(answer.json);
  if (!result.success)
    throw new GatewayUnreachable(`${url} is not a Tollgate gateway: its response has another format`);
  return { data: result.data, headers: answer.headers };
}

/** Normalises a gateway address: removes a trailing slash or the public API's `/v1`. */
export function normalizeGatewayAddress(text: string): string {
  return text.replace(/\/+$/, "").replace(/\/v1$/, "");
}

interface Answer {
  status: number;
  headers: Headers;
  json: unknown;
}

async function ask(url: string, init: RequestInit): Promise<Answer> {
  try {
    const response = await fetch(url, init);
    const text = await readText(response, ANSWER_BYTES_MAX);
    return { status: response.status, headers: response.headers, json: parseJson(text) };
  } catch (cause) {
    throw new GatewayUnreachable(`cannot reach the gateway at ${new URL(url).origin}: ${reason(cause)}`, { cause });
  }
}

function refusal(answer: Answer): GatewayRefusal {
  const envelope = ErrorEnvelope.safeParse(answer.json);
  if (!envelope.success) return new GatewayRefusal(answer.status, undefined, `the gateway answered ${answer.status}`);
  const { code, message } = envelope.data.error;
  return new GatewayRefusal(answer.status, code ?? undefined, message.replaceAll(/\s+/g, " "));
}

/** The innermost cause of a failed fetch, such as `ECONNREFUSED`. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  if (error.name === "TimeoutError") return "the gateway did not answer in time";
  const cause = error.cause as (Error & { code?: string }) | undefined;
  return cause?.code ?? cause?.message ?? error.message;
}
