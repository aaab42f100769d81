/** HTTP to an engine: bounded answers, no redirects, and failures as the engine port wants them. */
import type { z } from "zod";
import { type Clock, systemClock } from "../clock.ts";
import { parseJson, readText } from "../http-body.ts";
import { EngineError } from "./engine.ts";
import { JobHttp, type JobRequest, type Wish } from "./job-http.ts";

const PROBE_MS_MAX = 2_000;
const PROBE_BYTES_MAX = 4 * 1024 * 1024;
const ERROR_BYTES_MAX = 64 * 1024;
const RETRY_AFTER_MS_MAX = 2_000;

/** No one answers at the engine's address, or the connection broke. */
export class EngineAway extends EngineError {
  override name = "EngineAway";
}

/** The engine has too much to do: nothing was generated, and asking again may help. */
export class EngineBusy extends EngineError {
  override name = "EngineBusy";
  /** How long it asked to be left alone, if it did. */
  readonly retryAfterMs: number | undefined;
  constructor(status: number, retryAfterMs: number | undefined) {
    super("engine", `the engine is overloaded or still loading (HTTP ${status})`);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The engine turned the request down. Its text may repeat the prompt, so only the status and a plain code are passed on; the
 * text decides whether the prompt was too long, or the output format not to its liking.
 */
export class EngineRefused extends EngineError {
  override name = "EngineRefused";
  /** The error is about this request; others may succeed. */
  readonly aboutRequest: boolean;
  /** It names the output format. */
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

/** `answers`: an HTTP server answers without an error. `slow`: no answer in time. `away`: nothing listens. */
export type Liveness = "answers" | "slow" | "away";

/** The status and type of an answer, or the reason for none: a timeout, or an error code. */
export type Reach = { status: number; contentType: string; isTollgate: boolean } | { late: boolean; reason: string };

interface Answer<T> {
  json: T;
  headers: Headers;
}

interface HttpOptions {
  /** With or without `/v1`. */
  url: string;
  apiKey?: string | undefined;
  probeMs?: number | undefined;
  /** Times the short questions. */
  clock?: Clock | undefined;
}

export class EngineHttp {
  /** `http://host:port`, and whatever path comes before `/v1`. */
  readonly root: string;
  readonly #headers: Record<string, string>;
  readonly #probeMs: number;
  readonly #clock: Clock;
  #jobs: JobHttp | undefined;

  constructor(options: HttpOptions) {
    this.root = rootAddress(options.url);
    this.#headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
    this.#probeMs = options.probeMs ?? PROBE_MS_MAX;
    this.#clock = options.clock ?? systemClock;
  }

  get host(): string {
    return new URL(this.root).host;
  }

  /** A short question. Undefined when no one answers in time, or not in the form that was asked for. */
  async ask<T>(path: string, schema: z.ZodType<T>, body?: object): Promise<Answer<T> | undefined> {
    const answer = await this.#question(path, body);
    const result = schema.safeParse(parseJson(answer?.text ?? ""));
    return answer && result.success ? { json: result.data, headers: answer.headers } : undefined;
  }

  /** As `ask`, for what is plain text in lines. */
  async lines(path: string): Promise<string[] | undefined> {
    return (await this.#question(path, undefined))?.text.split("\n");
  }

  async probe(path: string): Promise<Liveness> {
    const reached = await this.reach(path);
    if ("status" in reached) return reached.status < 500 ? "answers" : "away";
    return reached.late ? "slow" : "away";
  }

  /** How a path is answered, whatever the answer holds. */
  async reach(path: string): Promise<Reach> {
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
   * Posts a job. `take` receives the bytes of a successful answer and returns whether it wants more. Resolves when it does not (`enough`,
   * `cut`), or the answer is `over` or `broken`.
   */
  async post(
    path: string,
    body: object,
    signal: AbortSignal,
    take: (bytes: Buffer) => Wish,
  ): Promise<"enough" | "cut" | "over" | "broken"> {
    let status = 0;
    let retryAfter: string | undefined;
    const refusal = new BoundedText(ERROR_BYTES_MAX);
    const end = await this.#postJob(path, JSON.stringify(body), signal, (head) => {
      status = head.status;
      if (status >= 200 && status < 300) return take;
      retryAfter = head.fields.get("retry-after");
      // The address belongs to the chosen engine, so a job is never redirected elsewhere.
      return status >= 400 ? (bytes) => refusal.take(bytes) : () => "cut";
    });
    if (status >= 200 && status < 300) return end;
    if (status < 400) throw new EngineAway("engine", "the engine does not respond");
    const text = refusal.whole(end);
    if (status === 429 || status === 503) throw new EngineBusy(status, retryAfterMs(retryAfter));
    throw new EngineRefused(status, text);
  }

  /** As `post`, for an answer that is wanted whole. */
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
      return undefined; // Nothing listens there, or it is slow or something else: no answer to this question.
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
      this.#jobs ??= new JobHttp(this.root, this.#headers, this.#clock);
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
        // A connection kept open from an earlier job was closed meanwhile: a fresh one may do.
        if (takes || signal.aborted || !isBrokenSocket(error)) throw error;
        return jobs.post({ ...request, fresh: true });
      });
    } catch (cause) {
      // `take` reports errors in the answer.
      if (takes) throw cause;
      throw new EngineAway("engine", "the engine does not respond", { cause });
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

/** The innermost reason of a failed fetch: `ECONNREFUSED` and the like. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : "the connection failed";
}

/** The address without a slash or the `/v1` of its API at the end. */
export function rootAddress(url: string): string {
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** Reads a whole answer up to a limit, so that the engine cannot use up our memory. */
class BoundedText {
  readonly #chunks: Buffer[] = [];
  #room: number;

  constructor(bytesMax: number) {
    this.#room = bytesMax;
  }

  take(bytes: Buffer): Wish {
    this.#room -= bytes.length;
    if (this.#room < 0) return "cut";
    this.#chunks.push(Buffer.from(bytes));
    return "more";
  }

  /** An answer that is not complete is the engine's failure. */
  whole(end: "enough" | "cut" | "over" | "broken"): string {
    if (end === "over") return Buffer.concat(this.#chunks).toString("utf8");
    const cause = new Error(end === "broken" ? "the connection was lost" : "the response is too large");
    throw new EngineAway("engine", "the engine's response is incomplete", { cause });
  }
}

/** An error within a stream. LM Studio reports a too long prompt there, after a 200. */
export function streamError(error: unknown): EngineError {
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

/** Our own gateway answers on one of the usual ports too, and would dispatch to us what we sent it. */
const isTollgate = (response: Response): boolean => response.headers.get("x-request-id")?.startsWith("req_") ?? false;
