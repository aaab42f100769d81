/**
 * Sends HTTP requests to an engine. Responses are limited in size, redirects are refused, and failures become
 * EngineErrors.
 */
import type { z } from "zod";
import { type Clock, systemClock } from "../clock.ts";
import { parseJson, readText } from "../read-response-body.ts";
import { EngineError } from "./engine.ts";
import { JobConnections, type JobRequest, type ReaderDemand } from "./job-connections.ts";

const PROBE_MS_MAX = 2_000;
const PROBE_BYTES_MAX = 4 * 1024 * 1024;
const ERROR_BYTES_MAX = 64 * 1024;
const RETRY_AFTER_MS_MAX = 2_000;

/** The engine's address refuses connections, or the connection broke. */
export class EngineUnreachable extends EngineError {
  override name = "EngineAway";
}

/** The engine is overloaded. It has generated nothing, and a retry may succeed. */
export class EngineOverloaded extends EngineError {
  override name = "EngineBusy";
  /** The delay from the engine's Retry-After header, if any. */
  readonly retryAfterMs: number | undefined;
  constructor(status: number, retryAfterMs: number | undefined) {
    super("engine", `the engine is overloaded or still loading (HTTP ${status})`);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The engine refused the request. Its message may quote the prompt, so only the status and a fixed code are passed on.
 * The message is only searched for signs that the prompt was too long or the output format is unsupported.
 */
export class EngineRefused extends EngineError {
  override name = "EngineRefused";
  /** Whether the error concerns only this request, so that other requests may succeed. */
  readonly aboutRequest: boolean;
  /** Whether the error concerns the output format. */
  readonly aboutFormat: boolean;
  constructor(status: number, body: string) {
    const requests = status === 400 || status === 413 || status === 422;
    const aboutPrompt = requests && mentionsContext(body);
    const code = plainCode(body);
    const what = aboutPrompt ? "the prompt does not fit the engine's context" : "the engine refused the request";
    super(aboutPrompt ? "prompt" : "engine", `${what} (HTTP ${status}${code ? `, ${code}` : ""})`);
    this.aboutRequest = requests;
    this.aboutFormat = /schema|grammar|response_format|structured/i.test(body.slice(0, 4096));
  }
}

/**
 * `answers`: an HTTP server responds without an error. `slow`: no response in time. `away`: nothing listens at the
 * address.
 */
export type ServerLiveness = "answers" | "slow" | "away";

/** The status and content type of a response, or the reason why there was none: a timeout or an error code. */
export type ReachResult =
  | { status: number; contentType: string; isTollgate: boolean }
  | { late: boolean; reason: string };

interface Answer<T> {
  json: T;
  headers: Headers;
}

interface HttpOptions {
  /** The engine's URL, with or without `/v1`. */
  url: string;
  apiKey?: string | undefined;
  probeMs?: number | undefined;
  /** The clock for timeouts of health requests. */
  clock?: Clock | undefined;
}

export class EngineHttp {
  /** The address without `/v1`: `http://host:port`, possibly with a path. */
  readonly root: string;
  readonly #headers: Record<string, string>;
  readonly #probeMs: number;
  readonly #clock: Clock;
  #jobs: JobConnections | undefined;

  constructor(options: HttpOptions) {
    this.root = toRootAddress(options.url);
    this.#headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
    this.#probeMs = options.probeMs ?? PROBE_MS_MAX;
    this.#clock = options.clock ?? systemClock;
  }

  get host(): string {
    return new URL(this.root).host;
  }

  /** Sends a quick request. Undefined if no valid response arrives in time. */
  async ask<T>(path: string, schema: z.ZodType<T>, body?: object): Promise<Answer<T> | undefined> {
    const answer = await this.#question(path, body);
    const result = schema.safeParse(parseJson(answer?.text ?? ""));
    return answer && result.success ? { json: result.data, headers: answer.headers } : undefined;
  }

  /** Like `ask`, but returns the lines of a plain-text response. */
  async lines(path: string): Promise<string[] | undefined> {
    return (await this.#question(path, undefined))?.text.split("\n");
  }

  async probe(path: string): Promise<ServerLiveness> {
    const reached = await this.reach(path);
    if ("status" in reached) return reached.status < 500 ? "answers" : "away";
    return reached.late ? "slow" : "away";
  }

  /** Requests a path and returns the status of the response. */
  async reach(path: string): Promise<ReachResult> {
    let late = false;
    const limit = new AbortController();
    const cancelTimer = this.#clock.after(this.#probeMs, () => {
      late = true;
      limit.abort();
    });
    try {
      const response = await this.#send(path, undefined, limit.signal, "manual");
      await response.body?.cancel();
      const { status, headers } = response;
      return { status, contentType: headers.get("content-type") ?? "", isTollgate: isTollgate(response) };
    } catch (error) {
      return { late, reason: late ? `no response in ${this.#probeMs / 1000} s` : codeOf(error) };
    } finally {
      cancelTimer();
    }
  }

  /**
   * Posts a job. `take` receives the bytes of a successful response and returns whether it wants more. The call
   * resolves when `take` wants no more (`enough`, `cut`), when the response is complete (`over`) or when it breaks off
   * (`broken`).
   */
  async post(
    path: string,
    body: object,
    signal: AbortSignal,
    take: (bytes: Buffer) => ReaderDemand,
  ): Promise<"enough" | "cut" | "over" | "broken"> {
    let status = 0;
    let retryAfter: string | undefined;
    const refusal = new BoundedText(ERROR_BYTES_MAX);
    const end = await this.#postJob(path, JSON.stringify(body), signal, (head) => {
      status = head.status;
      if (status >= 200 && status < 300) return take;
      retryAfter = head.fields.get("retry-after");
      // Redirects are not followed, because the host chose this address for prompts.
      return status >= 400 ? (bytes) => refusal.take(bytes) : () => "cut";
    });
    if (status >= 200 && status < 300) return end;
    if (status < 400) throw new EngineUnreachable("engine", "the engine does not respond");
    const text = refusal.whole(end);
    if (status === 429 || status === 503) throw new EngineOverloaded(status, retryAfterMs(retryAfter));
    throw new EngineRefused(status, text);
  }

  /** Like `post`, but collects the complete response. */
  async postForText(path: string, body: object, signal: AbortSignal, bytesMax: number): Promise<string> {
    const text = new BoundedText(bytesMax);
    return text.whole(await this.post(path, body, signal, (bytes) => text.take(bytes)));
  }

  async #question(path: string, body: object | undefined): Promise<{ text: string; headers: Headers } | undefined> {
    const limit = new AbortController();
    const cancelTimer = this.#clock.after(this.#probeMs, () => limit.abort());
    try {
      const response = await this.#send(path, body, limit.signal);
      const text = await readText(response, PROBE_BYTES_MAX);
      return response.ok && !isTollgate(response) ? { text, headers: response.headers } : undefined;
    } catch {
      return undefined; // There is no server, or it is too slow or not an engine.
    } finally {
      cancelTimer();
    }
  }

  async #postJob(
    path: string,
    body: string,
    signal: AbortSignal,
    answered: JobRequest["answered"],
  ): Promise<"enough" | "cut" | "over" | "broken"> {
    let takes = false;
    try {
      this.#jobs ??= new JobConnections(this.root, this.#headers, this.#clock);
      const jobs = this.#jobs;
      const request: JobRequest = {
        path,
        body,
        signal,
        answered: (head) => {
          takes = true;
          return answered(head);
        },
      };
      return await jobs.post(request).catch((error: unknown) => {
        // The server may have closed the reused connection just before, so the request is repeated on a new one.
        if (takes || signal.aborted || !isBrokenSocket(error)) throw error;
        return jobs.post({ ...request, fresh: true });
      });
    } catch (cause) {
      // Errors after the response began are reported by `take`.
      if (takes) throw cause;
      throw new EngineUnreachable("engine", "the engine does not respond", { cause });
    }
  }

  #send(
    path: string,
    body: object | undefined,
    signal: AbortSignal,
    redirect: "error" | "manual" = "error",
  ): Promise<Response> {
    const json = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    return fetch(`${this.root}${path}`, {
      ...json,
      redirect,
      signal,
      headers: { ...this.#headers, ...type },
    });
  }
}

const isBrokenSocket = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");

/** The innermost cause of a failed fetch, such as `ECONNREFUSED`. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : "the connection failed";
}

/** Removes a trailing slash or `/v1` from a URL. */
export function toRootAddress(url: string): string {
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** Collects a response up to a limit, so that the engine cannot exhaust our memory. */
class BoundedText {
  readonly #chunks: Buffer[] = [];
  #room: number;

  constructor(bytesMax: number) {
    this.#room = bytesMax;
  }

  take(bytes: Buffer): ReaderDemand {
    this.#room -= bytes.length;
    if (this.#room < 0) return "cut";
    this.#chunks.push(Buffer.from(bytes));
    return "more";
  }

  /** The response's text. An incomplete response is the engine's failure. */
  whole(end: "enough" | "cut" | "over" | "broken"): string {
    if (end === "over") return Buffer.concat(this.#chunks).toString("utf8");
    const cause = new Error(end === "broken" ? "the connection to the engine was lost" : "the response is too large");
    throw new EngineUnreachable("engine", "the engine's response is incomplete", { cause });
  }
}

/**
 * Converts an error event within a stream. LM Studio reports a prompt that is too long in this way, after status 200.
 */
export function toStreamError(error: unknown): EngineError {
  return mentionsContext(typeof error === "string" ? error : JSON.stringify(error))
    ? new EngineError("prompt", "the prompt does not fit the engine's context (reported in the stream)")
    : new EngineError("engine", "the engine reported an error in its stream");
}

function mentionsContext(body: string): boolean {
  return /context[ _]?(length|size|window|limit)|max_model_len|maximum.{0,40}(tokens|length)|too (long|many tokens)/i.test(
    body.slice(0, 4096),
  );
}

function plainCode(body: string): string | undefined {
  const parsed = parseJson(body);
  const error = typeof parsed === "object" && parsed !== null && "error" in parsed ? parsed.error : undefined;
  if (typeof error !== "object" || error === null) return undefined;
  const named = ["code", "type"].map((key) => (error as Record<string, unknown>)[key]);
  return named.find((text): text is string => typeof text === "string" && /^[a-z_]{1,48}$/i.test(text));
}

function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, RETRY_AFTER_MS_MAX) : undefined;
}

/**
 * Whether Tollgate's own gateway answers. It uses one of the engines' usual ports and would dispatch the job back here.
 */
const isTollgate = (response: Response): boolean => response.headers.get("x-request-id")?.startsWith("req_") ?? false;
