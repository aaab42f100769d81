/**
 * Four honest nodes of four identities in good standing: the scripted engine at the pace of a real one, with the right answers to
 * canaries. Two things it does as the in-process engine of llama.cpp does: a schema that it cannot expand freezes it permanently, and one
 * with a keyword that it does not know fails.
 */
import { knownAnswer } from "@tollgate/stage/nodes/known-answers.ts";
import type { InProcessStage } from "@tollgate/stage/stage.ts";
import { type Engine, EngineError, type GenerationJob } from "../../host/src/engines/engine.ts";
import { planOf } from "../../host/src/engines/script.ts";
import { MODEL, newNodesHave } from "./strategy.ts";

const NODES = 4;
const SLOTS = 4;
/** Below every ceiling of speed. */
const PACE = { ttft_ms: 50, delta_ms: 5 };
/** More answers than probation and the first checks ask for. */
const RECORD = 5_000;
const EXPANSION_MAX = 10_000;

/** Their host accounts. */
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
      // It never comes back, not even when it is stopped.
      if (isFrozen) return new Promise(() => {});
      if (JSON.stringify(schema ?? {}).includes('"minimum"')) throw new EngineError("engine", "unknown keyword");
      return scripted.generate(atPace(job, stage), sink, signal);
    },
  };
}

/** What the scripted engine would answer at once, word by word; an order to it stays what it is. */
function atPace(job: GenerationJob, stage: InProcessStage): GenerationJob {
  const prompt = "prompt" in job.input ? job.input.prompt : (job.input.messages.at(-1)?.content ?? "");
  if (prompt.startsWith("#script ")) return job;
  const known = "messages" in job.input ? knownAnswer(stage, job.input.messages) : undefined;
  const text = known ?? [...planOf(job).answer].join("");
  const script = `#script ${JSON.stringify({ text, ...PACE })}`;
  return { ...job, input: { messages: [{ role: "user", content: script }] }, endpoint: "chat" };
}

/** How many rules a grammar of the schema has once every reference is followed. */
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
