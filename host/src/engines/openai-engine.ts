/**
 * Serves jobs with an engine over HTTP: Ollama, llama-server, LM Studio, vLLM, MLX, or any engine with the OpenAI API.
 * The differences between engines are in profiles/.
 */
import type { Clock } from "../clock.ts";
import { countChatTokens } from "./chat-token-count.ts";
import { type Engine, EngineError } from "./engine.ts";
import { EngineHealth } from "./engine-health.ts";
import { EngineHttp, EngineOverloaded, EngineRefused, EngineUnreachable } from "./engine-http.ts";
import { testFormatEnforcement } from "./format-enforcement-check.ts";
import { HttpJobRunner } from "./http-job-runner.ts";
import { EMBEDDING_MODELS, THINKING_MODELS } from "./model-names.ts";
import type { EngineProfile } from "./profiles/engine-profile.ts";
import { genericProfile } from "./profiles/generic-engine.ts";
import { checkScoringSupport } from "./scoring-support-check.ts";

const TELL_EVERY_MS = 1_000;

interface OpenAiOptions {
  /** The name for logs and screens. */
  name: string;
  /** The URL, with or without `/v1`. */
  url: string;
  /** The engine's model names by catalogue ID. */
  models: ReadonlyMap<string, string>;
  profile?: EngineProfile | undefined;
  apiKey?: string | undefined;
  /** The number of slots that the host set. */
  slots?: number | undefined;
  /** The number of slots that the engine reported when it was found. */
  slotsTold?: number | undefined;
  /** The models that the engine listed when it was found. */
  listed?: readonly string[] | undefined;
  notes?: readonly string[] | undefined;
  clock: Clock;
}

export function openAiEngine(options: OpenAiOptions): Engine {
  const profile = options.profile ?? genericProfile;
  const { models: names, slots: slotsSet, clock } = options;
  const http = new EngineHttp(options);
  const slots = slotsSet ?? options.slotsTold ?? profile.assumedSlots;
  const models = [...names.keys()];
  const jobs = new HttpJobRunner({ http, profile, names, clock });
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
  /**
   * After a failed job, tests the model, and checks the engine if it was unreachable or overloaded. Ignores errors that
   * concern only that request.
   */
  const failed = (model: string, error: unknown): void => {
    if (!(error instanceof EngineError) || error.blame === "prompt") return;
    if (error instanceof EngineRefused && error.aboutRequest) return;
    if (error instanceof EngineUnreachable || error instanceof EngineOverloaded) health.check();
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
      return name === undefined ? undefined : countChatTokens({ http, profile, model, name, messages }, signal);
    },
    ...(profile.dialect.format === undefined
      ? {}
      : {
          keepsFormat: async (model) =>
            !EMBEDDING_MODELS.includes(model) &&
            testFormatEnforcement((job, sink, signal) => jobs.generate(job, sink, signal), model, clock),
        }),
    schemaKeywords: () => profile.schemaKeywords,
    ...scoringOf({ http, profile, names, clock }),
    close: async () => {},
  };
}

/**
 * Models with separated thinking cannot score. Thinking precedes the answer, and no HTTP engine accepts it as the
 * beginning of the output.
 */
function scoringOf({
  http,
  profile,
  names,
  clock,
}: {
  http: EngineHttp;
  profile: EngineProfile;
  names: ReadonlyMap<string, string>;
  clock: Clock;
}): Pick<Engine, "scoring" | "score"> {
  const { scoring } = profile;
  if (scoring === undefined) return {};
  const score: NonNullable<Engine["score"]> = async (job, sink, signal) => {
    const name = names.get(job.model);
    if (name === undefined) throw new EngineError("engine", `the engine has no model for ${job.model}`);
    // The scores arrive in one piece. Until then, progress is reported.
    const stopTelling = clock.every(TELL_EVERY_MS, () => sink.progress(0));
    try {
      return await scoring.score(http, name, job, signal);
    } finally {
      stopTelling();
    }
  };
  const tried = async (model: string) =>
    THINKING_MODELS.includes(model) ? undefined : checkScoringSupport(scoring.kind, score, { model, clock });
  return { scoring: tried, score };
}
