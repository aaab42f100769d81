/** Several engines as one: each model is served by the first engine that has it. */
import type { Engine, EngineJob } from "./engine.ts";

interface Member {
  engine: Engine;
  /** Those of its models that no engine before it has. */
  models: string[];
  running: number;
}

export function compositeEngine(engines: readonly Engine[]): Engine {
  const byModel = new Map<string, Member>();
  const members = engines.map((engine) => {
    const member: Member = { engine, models: engine.models.filter((model) => !byModel.has(model)), running: 0 };
    for (const model of member.models) byModel.set(model, member);
    return member;
  });
  const memberFor = (job: EngineJob): Member => {
    const member = byModel.get(job.model);
    if (member === undefined) throw new Error(`no engine serves ${job.model}`);
    return member;
  };

  return {
    name: members.map(({ engine, models }) => `${engine.name} (${models.join(", ")})`).join(" + "),
    slots: engines.reduce((sum, engine) => sum + engine.slots, 0),
    models: [...byModel.keys()],
    // The agent counts the slots of all engines together; one may be full while another is free.
    refuses(job) {
      const { engine, running } = memberFor(job);
      return running >= engine.slots || (engine.refuses?.(job) ?? false);
    },
    async generate(job, sink, signal) {
      const member = memberFor(job);
      member.running++;
      try {
        return await member.engine.generate(job, sink, signal);
      } finally {
        member.running--;
      }
    },
    async *embed(job, sink, signal) {
      const member = memberFor(job);
      member.running++;
      try {
        yield* member.engine.embed(job, sink, signal);
      } finally {
        member.running--;
      }
    },
    async close() {
      await Promise.all(engines.map((engine) => engine.close()));
    },
  };
}
