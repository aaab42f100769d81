/**
 * Engines that serve over HTTP: Ollama, llama-server, LM Studio, vLLM, MLX and whatever else speaks the OpenAI dialect.
 * One path for all of them; what differs is in profiles/.
 */
import type { Clock } from "../clock.ts";
import { countChat } from "./chat-count.ts";
import { type Engine, EngineError } from "./engine.ts";
import { EngineHealth } from "./engine-health.ts";
import { EngineAway, EngineBusy, EngineHttp, EngineRefused } from "./engine-http.ts";
import { keepsToFormat } from "./format-check.ts";
import { HttpJobs } from "./http-jobs.ts";
import { EMBEDDING_MODELS } from "./models.ts";
import { generic } from "./profiles/generic.ts";
import type { EngineProfile } from "./profiles/profile.ts";

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
  const jobs = new HttpJobs({ http, profile, names, clock });
  const health = new EngineHealth({
    http,
    profile,
    names,
    first: { models, slots },
    listed: options.listed ?? [],
    slots: slotsSet,
    works: (model) => jobs.works(model),
    clock,
  });
  /** A job failed: the engine may be gone, or be there and serve nobody. What is wrong with one request says neither. */
  const failed = (model: string, error: unknown): void => {
    if (!(error instanceof EngineError) || error.blame === "prompt") return;
    if (error instanceof EngineRefused && error.aboutRequest) return;
    if (error instanceof EngineAway || error instanceof EngineBusy) health.check();
    health.doubt(model);
  };
  return {
    name: options.name,
    slots,
    models,
    notes: options.notes ?? [],
    watch: (changed) => health.watch(changed),
    refuses: (job) => jobs.overloaded || !jobs.canFormat(job),
    async generate(job, sink, signal) {
      try {
        return await jobs.generate(job, sink, signal);
      } catch (error) {
        failed(job.model, error);
        throw error;
      }
    },
    async *embed(job, sink, signal) {
      try {
        yield* jobs.embed(job, sink, signal);
      } catch (error) {
        failed(job.model, error);
        throw error;
      }
    },
    async tokens(model, text) {
      const name = names.get(model);
      return name === undefined ? undefined : profile.tokens?.(http, name, text);
    },
    async chatTokens(model, messages, signal) {
      const name = names.get(model);
      return name === undefined ? undefined : countChat({ http, profile, model, name, messages }, signal);
    },
    ...(profile.dialect.format === undefined
      ? {}
      : {
          keepsFormat: async (model) =>
            !EMBEDDING_MODELS.includes(model) &&
            keepsToFormat((job, sink, signal) => jobs.generate(job, sink, signal), model, clock),
        }),
    schemaKeywords: () => profile.schemaKeywords,
    close: async () => {},
  };
}
