/**
 * Engines that serve over HTTP: Ollama, llama-server, LM Studio, vLLM, MLX and whatever else speaks the OpenAI dialect.
 * One path for all of them; what differs is in profiles/.
 */
import { type Clock, sleep } from "../clock.ts";
import { countChat } from "./chat-count.ts";
import { type EmbeddingJob, type Engine, EngineError, type Finish, type GenerationJob, type Sink } from "./engine.ts";
import { EngineHealth } from "./engine-health.ts";
import { bytesOf, EngineAway, EngineBusy, EngineHttp, type Liveness, letEnd, textOf } from "./engine-http.ts";
import { NdjsonReader, SseReader } from "./framing.ts";
import { contextTokensOf } from "./model-requirements.ts";
import { generic } from "./profiles/generic.ts";
import type { Dialect, EngineProfile, EngineRequest, StreamEvent } from "./profiles/profile.ts";
import { Watchdog } from "./watchdog.ts";

const EMBEDDING_BYTES_MAX = 16 * 1024 * 1024;
/** Small, so that vectors keep coming and the gateway does not take the node for stalled. */
const INPUTS_PER_CALL = 8;
/** An overloaded engine is asked again for so long; nothing ran yet, so nothing is lost. */
const OVERLOAD_MS_MAX = 10_000;
const OVERLOAD_WAIT_MS_MIN = 250;
const OVERLOAD_WAIT_MS_MAX = 2_000;
/** After it refused for overload, jobs are sent elsewhere for so long. */
const REFUSE_MS = 1_000;

interface OpenAiOptions {
  /** For logs and screens. */
  name: string;
  /** With or without `/v1`. */
  url: string;
  /** Catalogue id → the engine's name for the model. */
  models: ReadonlyMap<string, string>;
  profile?: EngineProfile | undefined;
  apiKey?: string | undefined;
  /** As whoever runs the node set them. */
  slots?: number | undefined;
  /** As the engine told when it was found. */
  slotsTold?: number | undefined;
  /** The models it listed when it was found. */
  listed?: readonly string[] | undefined;
  notes?: readonly string[] | undefined;
  probeMs?: number | undefined;
  clock: Clock;
}

export function openAiEngine(options: OpenAiOptions): Engine {
  const profile = options.profile ?? generic;
  const { models: names, slots: slotsSet, clock } = options;
  const http = new EngineHttp(options);
  const slots = slotsSet ?? options.slotsTold ?? profile.assumedSlots;
  const models = [...names.keys()];
  const health = new EngineHealth({
    http,
    profile,
    names,
    first: { models, slots },
    listed: options.listed ?? [],
    slots: slotsSet,
    clock,
  });
  const client = new Client({ http, profile, names, health, clock });
  return {
    name: options.name,
    slots,
    models,
    notes: options.notes ?? [],
    watch: (changed) => health.watch(changed),
    refuses: () => client.overloaded,
    generate: (job, sink, signal) => client.generate(job, sink, signal),
    embed: (job, sink, signal) => client.embed(job, sink, signal),
    async tokens(model, text) {
      const name = names.get(model);
      return name === undefined ? undefined : profile.tokens?.(http, name, text);
    },
    async chatTokens(model, messages, signal) {
      const name = names.get(model);
      return name === undefined ? undefined : countChat({ http, profile, model, name, messages }, signal);
    },
    close: async () => {},
  };
}

interface ClientOptions {
  http: EngineHttp;
  profile: EngineProfile;
  names: ReadonlyMap<string, string>;
  health: EngineHealth;
  clock: Clock;
}

class Client {
  readonly #options: ClientOptions;
  readonly #dialect: Dialect;
  #probe: Promise<Liveness> | undefined;
  #refuseUntil = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#dialect = options.profile.dialect;
  }

  get overloaded(): boolean {
    return this.#options.clock.monotonic() < this.#refuseUntil;
  }

  async generate(job: GenerationJob, sink: Sink, signal: AbortSignal): Promise<{ finish: Finish }> {
    const request = this.#dialect.generation(job, this.#nameOf(job.model), contextTokensOf(job.model));
    const watchdog = this.#watchdog(sink);
    const cut = new AbortController();
    try {
      const response = await this.#begin(request, AbortSignal.any([signal, watchdog.signal, cut.signal]));
      return { finish: await this.#relay(response, sink, watchdog, () => cut.abort()) };
    } catch (error) {
      // The engine may still be generating.
      cut.abort();
      if (signal.aborted) return { finish: "stop" };
      throw this.#failure(error, watchdog);
    } finally {
      watchdog.end();
    }
  }

  async *embed(job: EmbeddingJob, sink: Pick<Sink, "progress">, signal: AbortSignal): AsyncGenerator<Float32Array> {
    const model = this.#nameOf(job.model);
    const watchdog = this.#watchdog(sink);
    const either = AbortSignal.any([signal, watchdog.signal]);
    try {
      for (let at = 0; at < job.input.length && !signal.aborted; at += INPUTS_PER_CALL) {
        const input = job.input.slice(at, at + INPUTS_PER_CALL);
        const response = await this.#begin(this.#dialect.embedding(model, input, contextTokensOf(job.model)), either);
        const vectors = this.#dialect.vectors(await textOf(response, EMBEDDING_BYTES_MAX), input.length);
        watchdog.output();
        yield* vectors;
      }
    } catch (error) {
      if (!signal.aborted) throw this.#failure(error, watchdog);
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

  /** What goes wrong while the watchdog has given up is its doing: it cut the request off. */
  #failure(error: unknown, watchdog: Watchdog): unknown {
    if (error instanceof EngineAway || error instanceof EngineBusy) this.#options.health.check();
    return watchdog.signal.aborted ? watchdog.signal.reason : error;
  }

  /** Sends the request until the engine takes it. */
  async #begin(request: EngineRequest, signal: AbortSignal): Promise<Response> {
    const { clock } = this.#options;
    const giveUpAt = clock.monotonic() + OVERLOAD_MS_MAX;
    for (let waitMs = OVERLOAD_WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, OVERLOAD_WAIT_MS_MAX)) {
      try {
        return await this.#put(request, signal);
      } catch (error) {
        if (!(error instanceof EngineBusy)) throw error;
        const nextMs = Math.max(waitMs, error.retryAfterMs ?? 0);
        this.#refuseUntil = clock.monotonic() + REFUSE_MS;
        if (clock.monotonic() + nextMs > giveUpAt) throw error;
        await sleep(clock, nextMs, signal);
      }
    }
  }

  async #put(request: EngineRequest, signal: AbortSignal): Promise<Response> {
    const { http } = this.#options;
    try {
      return await http.post(request.path, request.body, signal);
    } catch (error) {
      const uncapped = this.#dialect.uncapped?.(request);
      const aboutLength = error instanceof EngineError && error.blame === "prompt";
      if (!aboutLength || uncapped === undefined) throw error;
      return http.post(uncapped.path, uncapped.body, signal);
    }
  }

  async #relay(response: Response, sink: Sink, watchdog: Watchdog, cutOff: () => void): Promise<Finish> {
    let finish: Finish | undefined;
    let over = false;
    const take = (event: StreamEvent | undefined): void => {
      if (event === undefined || over) return;
      if (event.promptRead !== undefined) watchdog.read(event.promptRead);
      if (event.thinking !== undefined || event.answer !== undefined) watchdog.output();
      if (event.thinking !== undefined) sink.delta("reasoning", event.thinking);
      if (event.answer !== undefined) sink.delta("answer", event.answer);
      finish = event.finish ?? finish;
      over = event.last ?? false;
    };
    const dialect = this.#dialect;
    const comment = (text: string): void => take(dialect.readComment?.(text));
    const reader = dialect.framing === "sse" ? new SseReader(comment) : new NdjsonReader();
    const stream = bytesOf(response);
    for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
      for (const data of reader.push(next.value)) take(dialect.read(data));
      if (!over) continue;
      letEnd(stream, this.#options.clock, cutOff);
      return finish ?? "stop";
    }
    for (const data of reader.end()) take(dialect.read(data));
    if (finish === undefined && !over) throw new EngineAway("engine", "the engine's stream ended in the middle");
    return finish ?? "stop";
  }

  #nameOf(model: string): string {
    const name = this.#options.names.get(model);
    if (name === undefined) throw new EngineError("engine", `the engine has no model for ${model}`);
    return name;
  }
}
