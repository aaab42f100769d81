/** Combines several engines into one. Each model is served by the first engine that has it. */
import type { Engine, EngineAvailability } from "./engine.ts";

interface Member {
  engine: Engine;
  /** The models that this engine serves: those that no earlier engine has. */
  models: string[];
  now: EngineAvailability;
  running: number;
}

export function compositeEngine(engines: readonly Engine[]): Engine {
  const byModel = new Map<string, Member>();
  const members = engines.map((engine): Member => {
    const models = engine.models.filter((model) => !byModel.has(model));
    const member: Member = { engine, models, now: { models, slots: engine.slots }, running: 0 };
    for (const model of models) byModel.set(model, member);
    return member;
  });
  const memberFor = (model: string): Member => {
    const member = byModel.get(model);
    if (member === undefined) throw new Error(`no engine serves ${model}`);
    return member;
  };
  const together = (): EngineAvailability => ({
    models: members.flatMap(({ models, now }) => models.filter((model) => now.models.includes(model))),
    slots: members.reduce((sum, { now }) => sum + now.slots, 0),
    ...(members.some(({ now }) => now.slotsMax !== undefined) && {
      slotsMax: members.reduce((sum, { now }) => sum + (now.slotsMax ?? now.slots), 0),
    }),
  });

  return {
    name: members.map(({ engine, models }) => `${engine.name} (${models.join(", ")})`).join(" + "),
    slots: engines.reduce((sum, engine) => sum + engine.slots, 0),
    models: [...byModel.keys()],
    notes: engines.flatMap((engine) => engine.notes ?? []),
    watch(changed) {
      const stops = members.map((member) =>
        member.engine.watch?.((now) => {
          member.now = now;
          changed(together());
        }),
      );
      return () => {
        for (const stop of stops) stop?.();
      };
    },
    // The agent counts the slots of all engines together, so it may pass on a job whose own engine is full or
    // unreachable.
    refuses(job) {
      const { engine, running, now } = memberFor(job.model);
      return running >= (now.slotsMax ?? now.slots) || (engine.refuses?.(job) ?? false);
    },
    async generate(job, sink, signal) {
      const member = memberFor(job.model);
      member.running++;
      try {
        return await member.engine.generate(job, sink, signal);
      } finally {
        member.running--;
      }
    },
    async *embed(job, sink, signal) {
      const member = memberFor(job.model);
      member.running++;
      try {
        yield* member.engine.embed(job, sink, signal);
      } finally {
        member.running--;
      }
    },
    scoring: async (model) => byModel.get(model)?.engine.scoring?.(model),
    async score(job, sink, signal) {
      const member = memberFor(job.model);
      if (member.engine.score === undefined)
        throw new Error(`the engine of ${job.model} cannot return the token probabilities of a given answer`);
      member.running++;
      try {
        return await member.engine.score(job, sink, signal);
      } finally {
        member.running--;
      }
    },
    keepsFormat: async (model) => (await byModel.get(model)?.engine.keepsFormat?.(model)) ?? false,
    schemaKeywords: (model) => byModel.get(model)?.engine.schemaKeywords?.(model),
    tokens: async (model, text) => byModel.get(model)?.engine.tokens?.(model, text),
    chatTokens: async (model, messages, signal) => byModel.get(model)?.engine.chatTokens?.(model, messages, signal),
    async close() {
      await Promise.all(engines.map((engine) => engine.close()));
    },
  };
}
