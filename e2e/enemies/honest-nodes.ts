/**
 * Four honest nodes of four hosts in good standing. Their scripted engine has a real engine's pace and answers canaries
 * correctly. Like llama.cpp inside the agent, it freezes permanently on a schema that is too large to expand, and fails
 * on a schema with an unknown keyword.
 */
import { findKnownAnswer } from "@tollgate/stage/nodes/known-answers.ts";
import type { InProcessStage } from "@tollgate/stage/stage.ts";
import { type Engine, EngineError, type GenerationJob } from "../../host/src/engines/engine.ts";
import { planScriptedAnswer } from "../../host/src/engines/engine-script.ts";
import { MODEL, setHonestAnswersOfNewNodes } from "./attack-strategy.ts";

const NODES = 4;
const SLOTS = 4;
/** Slower than the catalogue's maximum speed of every model. */
const PACE = { ttft_ms: 50, delta_ms: 5 };
/** The number of honest answers in each node's record: enough to be past probation and the first spot checks. */
const RECORD = 5_000;
const EXPANSION_MAX = 10_000;

/** Starts the nodes and returns their host accounts. */
export async function openHonestNodes(stage: InProcessStage): Promise<string[]> {
  const hosts: string[] = [];
  await setHonestAnswersOfNewNodes(stage, RECORD);
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
  await setHonestAnswersOfNewNodes(stage, 0);
  return hosts;
}

function paced(scripted: Engine, stage: InProcessStage): Engine {
  let isFrozen = false;
  return {
    ...scripted,
    generate(job, sink, signal) {
      const schema = job.format?.type === "json_schema" ? job.format.schema : undefined;
      isFrozen ||= expansionOf(schema) > EXPANSION_MAX;
      // A frozen engine never answers again, even after a cancel signal.
      if (isFrozen) return new Promise(() => {});
      if (JSON.stringify(schema ?? {}).includes('"minimum"')) throw new EngineError("engine", "unknown keyword");
      return scripted.generate(atPace(job, stage), sink, signal);
    },
  };
}

/**
 * Makes the scripted engine answer word by word, at the pace of a real engine. A prompt that begins with `#script` stays
 * unchanged, because it tells the engine how to answer.
 */
function atPace(job: GenerationJob, stage: InProcessStage): GenerationJob {
  const prompt = "prompt" in job.input ? job.input.prompt : (job.input.messages.at(-1)?.content ?? "");
  if (prompt.startsWith("#script ")) return job;
  const known = "messages" in job.input ? findKnownAnswer(stage, job.input.messages) : undefined;
  const text = known ?? [...planScriptedAnswer(job).answer].join("");
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
