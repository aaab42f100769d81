/**
 * Four honest nodes of four hosts in good standing: the scripted engine at a real engine's pace, with the right answers
 * to canaries. As llama.cpp inside the agent does, a schema that is too large to expand freezes the engine permanently,
 * and a schema with an unknown keyword fails.
 */
import { knownAnswer } from "@tollgate/stage/nodes/known-answers.ts";
import type { InProcessStage } from "@tollgate/stage/stage.ts";
import { type Engine, EngineError, type GenerationJob } from "../../host/src/engines/engine.ts";
import { planOf } from "../../host/src/engines/script.ts";
import { MODEL, newNodesHave } from "./strategy.ts";

const NODES = 4;
const SLOTS = 4;
/** Slower than the maximum speed of every model. */
const PACE = { ttft_ms: 50, delta_ms: 5 };
/** More answers than probation and the first checks require. */
const RECORD = 5_000;
const EXPANSION_MAX = 10_000;

/** Returns the nodes' host accounts. */
export async function openHonestNodes(stage: InProcessStage): Promise<string[]> {
  const hosts: string[] = [];
  await newNodesHave(stage, RECORD);
  for (let i = 0; i < NODES; i++) {
    const host = await stage.host();
    hosts.push(host.account);
    await stage.node({
      models: [MODEL],
      name: `honest ${i}`,
      slots: SLOTS,
      host,
      wrapped: (engine) => paced(engine, stage),
    });
  }
  await newNodesHave(stage, 0);
  return hosts;
}

function paced(scripted: Engine, stage: InProcessStage): Engine {
  let isFrozen = false;
  return {
    ...scripted,
    generate(job, sink, signal) {
      const schema = job.format?.type === "json_schema" ? job.format.schema : undefined;
      isFrozen ||= expansionOf(schema) > EXPANSION_MAX;
      // A frozen engine never answers again, not even when it is stopped.
      if (isFrozen) return new Promise(() => {});
      if (JSON.stringify(schema ?? {}).includes('"minimum"')) throw new EngineError("engine", "unknown keyword");
      return scripted.generate(atPace(job, stage), sink, signal);
    },
  };
}

/** Gives the scripted engine's answer word by word at a real pace; a prompt with instructions is left as it is. */
function atPace(job: GenerationJob, stage: InProcessStage): GenerationJob {
  const prompt = "prompt" in job.input ? job.input.prompt : (job.input.messages.at(-1)?.content ?? "");
  if (prompt.startsWith("#script ")) return job;
  const known = "messages" in job.input ? knownAnswer(stage, job.input.messages) : undefined;
  const text = known ?? [...planOf(job).answer].join("");
  const script = `#script ${JSON.stringify({ text, ...PACE })}`;
  return { ...job, input: { messages: [{ role: "user", content: script }] }, endpoint: "chat" };
}

/** The number of grammar rules of a schema after expanding every reference. */
function expansionOf(schema: unknown): number {
  let steps = 0;
  const { $defs = {} } = (schema ?? {}) as { $defs?: Record<string, unknown> };
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null || ++steps > EXPANSION_MAX) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "$ref") walk($defs[String(inner).replace("#/$defs/", "")]);
      else if (key !== "$defs") walk(inner);
    }
  };
  walk(schema);
  return steps;
}
