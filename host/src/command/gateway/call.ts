/** One HTTP call to the gateway, and the two ways it fails: it said no, or it was not there. */
import { z } from "zod";
import { parseJson, readText } from "../../http-body.ts";

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** The envelope of every error. */
const ErrorEnvelope = z.object({
  error: z.object({ message: z.string(), type: z.string(), code: z.string().nullish() }),
});

/** The gateway answered and said no. */
export class GatewayRefusal extends Error {
  override name = "GatewayRefusal";
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

/** The gateway's address as people paste it: with or without a slash or the `/v1` of the public API at its end. */
export function gatewayAddress(text: string): string {
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

/** The innermost reason of a failed fetch, in words: `ECONNREFUSED` and the like stay recognisable. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  if (error.name === "TimeoutError") return "the gateway did not answer in time";
  const cause = error.cause as (Error & { code?: string }) | undefined;
  return cause?.code ?? cause?.message ?? error.message;
}
