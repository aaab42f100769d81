/**
 * Runs jobs over HTTP in the engine's dialect, with a watchdog, and passes the output to the sink. Retries for a while if the engine is
 * overloaded.
 */
import { type Clock, sleep } from "../clock.ts";
import {
  type EmbeddingJob,
  EngineError,
  type EngineJob,
  type Finish,
  type GenerationJob,
  type Sink,
} from "./engine.ts";
import { EngineBusy, type EngineHttp, EngineRefused, type Liveness } from "./engine-http.ts";
import type { ReaderWish } from "./job-http.ts";
import { contextTokensOf } from "./model-requirements.ts";
import { EMBEDDING_MODELS, THINKING_MODELS } from "./models.ts";
import { OutputRelay } from "./output-relay.ts";
import type { Dialect, EngineProfile, EngineRequest } from "./profiles/profile.ts";
import { StreamedAnswer } from "./streamed-answer.ts";
import { Watchdog } from "./watchdog.ts";

const EMBEDDING_BYTES_MAX = 16 * 1024 * 1024;
/** Small, so that vectors arrive regularly and the gateway sees no stall; even smaller when calls take long. */
const INPUTS_PER_CALL = 8;
const CALL_MS = 1_000;
/** How long an overloaded engine is retried; nothing has run yet. */
const OVERLOAD_MS_MAX = 10_000;
const OVERLOAD_WAIT_MS_MIN = 250;
const OVERLOAD_WAIT_MS_MAX = 2_000;
/** After an overload, jobs are refused for this long. */
const REFUSE_MS = 1_000;
/** The timeout of a minimal job; an engine may have to load its model. */
const TRY_MS_MAX = 60_000;

interface HttpJobsOptions {
  http: EngineHttp;
  profile: EngineProfile;
  names: ReadonlyMap<string, string>;
  clock: Clock;
}

export class HttpJobs {
  readonly #options: HttpJobsOptions;
  readonly #dialect: Dialect;
  #probe: Promise<Liveness> | undefined;
  #refuseUntil = 0;

  constructor(options: HttpJobsOptions) {
    this.#options = options;
    this.#dialect = options.profile.dialect;
  }

  get overloaded(): boolean {
    return this.#options.clock.monotonic() < this.#refuseUntil;
  }

  /** Whether the dialect can express the format of this job. */
  canFormat(job: EngineJob): boolean {
    if (job.endpoint === "embedding" || job.format === undefined) return true;
    return this.#dialect.format?.(job.format, job.endpoint) !== undefined;
  }

  /** Whether a model responds at all, by a minimal job. */
  async works(model: string): Promise<boolean> {
    const limit = new AbortController();
    const cancelTimer = this.#options.clock.after(TRY_MS_MAX, () => limit.abort());
    try {
      const nowhere = { delta: () => {}, progress: () => {} };
      if (!EMBEDDING_MODELS.includes(model)) await this.generate(smallestJob(model), nowhere, limit.signal);
      else {
        const job = { ...smallestJob(model), endpoint: "embedding" as const, input: ["Hi"] };
        for await (const _ of this.embed(job, nowhere, limit.signal));
      }
      return !limit.signal.aborted;
    } catch (error) {
      if (error instanceof EngineError) return false;
      throw error;
    } finally {
      cancelTimer();
    }
  }

  async generate(job: GenerationJob, sink: Sink, signal: AbortSignal): Promise<{ finish: Finish }> {
    const contextTokens = contextTokensOf(job.model);
    const request = this.#dialect.generation(this.#asAsked(job), this.#nameOf(job.model), contextTokens);
    const watchdog = this.#watchdog(sink);
    const relay = new OutputRelay({ job, sink, contextTokens });
    const cut = eitherOf(signal, watchdog.signal);
    try {
      const answer = new StreamedAnswer(this.#dialect, relay, watchdog);
      const { http } = this.#options;
      const take = (bytes: Buffer): ReaderWish => answer.take(bytes);
      const end = await this.#untilTaken(request, cut.signal, ({ path, body }) =>
        http.post(path, body, cut.signal, take),
      );
      return { finish: answer.finish(end) };
    } catch (error) {
      // The engine may still be generating.
      cut.abort();
      if (signal.aborted) return { finish: "stop" };
      throw causeOf(error, watchdog, job);
    } finally {
      watchdog.end();
    }
  }

  /** Engines also search thinking for stop strings, and some handle them worse, so those get none. */
  #asAsked(job: GenerationJob): GenerationJob {
    if (this.#options.profile.stopsExactly && !THINKING_MODELS.includes(job.model)) return job;
    const { stop: _ours, ...sampling } = job.sampling;
    return { ...job, sampling };
  }

  async *embed(job: EmbeddingJob, sink: Pick<Sink, "progress">, signal: AbortSignal): AsyncGenerator<Float32Array> {
    const { clock, http } = this.#options;
    const model = this.#nameOf(job.model);
    const watchdog = this.#watchdog(sink);
    const either = eitherOf(signal, watchdog.signal).signal;
    try {
      let inputs = INPUTS_PER_CALL;
      for (let at = 0; at < job.input.length && !signal.aborted; ) {
        const input = job.input.slice(at, at + inputs);
        const began = clock.monotonic();
        const request = this.#dialect.embedding(model, input, contextTokensOf(job.model));
        const text = await this.#untilTaken(request, either, ({ path, body }) =>
          http.postForText(path, body, either, EMBEDDING_BYTES_MAX),
        );
        const vectors = this.#dialect.vectors(text, input.length);
        at += input.length;
        if (clock.monotonic() - began > CALL_MS) inputs = Math.max(1, Math.floor(inputs / 2));
        watchdog.read(at / job.input.length);
        yield* vectors;
      }
    } catch (error) {
      if (!signal.aborted) throw causeOf(error, watchdog, job);
    } finally {
      watchdog.end();
    }
  }

  #watchdog(sink: Pick<Sink, "progress">): Watchdog {
    const { clock, http, profile } = this.#options;
    const probe = (): Promise<Liveness> => {
      // Jobs that wait at the same time share the answer.
      this.#probe ??= http.probe(profile.healthPath).finally(() => {
        this.#probe = undefined;
      });
      return this.#probe;
    };
    return new Watchdog({ clock, probe, tell: (promptRead) => sink.progress(promptRead) });
  }

  /** Sends the request until the engine takes it. */
  async #untilTaken<T>(
    request: EngineRequest,
    signal: AbortSignal,
    send: (request: EngineRequest) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#options;
    const giveUpAt = clock.monotonic() + OVERLOAD_MS_MAX;
    for (let waitMs = OVERLOAD_WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, OVERLOAD_WAIT_MS_MAX)) {
      try {
        return await this.#put(request, send);
      } catch (error) {
        if (!(error instanceof EngineBusy)) throw error;
        const nextMs = Math.max(waitMs, error.retryAfterMs ?? 0);
        this.#refuseUntil = clock.monotonic() + REFUSE_MS;
        if (clock.monotonic() + nextMs > giveUpAt) throw error;
        await sleep(clock, nextMs, signal);
      }
    }
  }

  async #put<T>(request: EngineRequest, send: (request: EngineRequest) => Promise<T>): Promise<T> {
    try {
      return await send(request);
    } catch (error) {
      const uncapped = this.#dialect.uncapped?.(request);
      const aboutLength = error instanceof EngineRefused && error.blame === "prompt";
      if (!aboutLength || uncapped === undefined) throw error;
      return send(uncapped);
    }
  }

  #nameOf(model: string): string {
    const name = this.#options.names.get(model);
    if (name === undefined) throw new EngineError("engine", `the engine has no model for ${model}`);
    return name;
  }
}

/** Aborts when one of the two aborts. Cheaper than AbortSignal.any, which outlives them. */
function eitherOf(one: AbortSignal, other: AbortSignal): AbortController {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (one.aborted || other.aborted) abort();
  one.addEventListener("abort", abort, { once: true });
  other.addEventListener("abort", abort, { once: true });
  return controller;
}

function smallestJob(model: string): GenerationJob {
  const input = { messages: [{ role: "user", content: "Hi" }] };
  return { id: "try", attempt: 1, model, endpoint: "chat", input, sampling: {}, outputTokensMax: 1 };
}

/** While the watchdog has given up, errors result from its cut. A refused format is not the engine's failure. */
function causeOf(error: unknown, watchdog: Watchdog, job: EngineJob): unknown {
  if (watchdog.signal.aborted) return watchdog.signal.reason;
  if (job.endpoint === "embedding" || job.format === undefined || !(error instanceof EngineRefused)) return error;
  if (error.blame === "prompt" || !(error.aboutRequest || error.aboutFormat)) return error;
  return new EngineError("prompt", `the engine does not support this output format: ${error.message}`);
}
