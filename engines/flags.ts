/** The flags of `npm run engines`. */
import { parseArgs } from "node:util";
import type { BehaviourName } from "./behaviours/behaviour-names.ts";
import { BEHAVIOUR_CHECKS } from "./behaviours/behaviours.ts";
import type { EngineUnderTest } from "./engine-under-test.ts";
import { demoEngine, ggufFileEngine } from "./servers/engines-inside-agent.ts";
import { llamaServerEngine } from "./servers/llama-server.ts";
import { mlxEngine } from "./servers/mlx.ts";
import { ollamaEngine } from "./servers/ollama.ts";
import { transformersEngine } from "./servers/transformers.ts";
import { vllmEngine } from "./servers/vllm.ts";

const ENGINES: EngineUnderTest[] = [
  llamaServerEngine,
  ollamaEngine,
  mlxEngine,
  vllmEngine,
  transformersEngine,
  ggufFileEngine,
  demoEngine,
];
const NAMES = Object.keys(BEHAVIOUR_CHECKS) as BehaviourName[];

export interface Flags {
  engines: EngineUnderTest[];
  behaviours: BehaviourName[];
  /** The Markdown file into which the table is written. */
  markdown: string | undefined;
  help: boolean;
}

export const USAGE = `Usage: npm run engines -- [flags]
  --only A,B          these engines: ${ENGINES.map(({ id }) => id).join(", ")} (default all)
  --behaviours A,B    these behaviours: ${NAMES.join(", ")} (default all)
  --markdown FILE     write the table into FILE, between its markers
  --help              this`;

export function parseFlags(args: string[]): Flags {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args,
    options: { only: text, behaviours: text, markdown: text, help: { type: "boolean", default: false } },
  });
  return {
    engines: chosen("only", values.only, ENGINES, ({ id }) => id),
    behaviours: chosen("behaviours", values.behaviours, NAMES, (name) => name),
    markdown: values.markdown,
    help: values.help,
  };
}

/** Returns the entries that the flag names, in the order of `all`. */
function chosen<T>(flag: string, words: string | undefined, all: T[], nameOf: (one: T) => string): T[] {
  if (words === undefined) return all;
  const names = words.split(",").map((word) => word.trim());
  const unknown = names.filter((name) => !all.some((one) => nameOf(one) === name));
  if (unknown.length > 0)
    throw new Error(`--${flag}: there is no ${unknown.join(", ")}; it is one of ${all.map(nameOf).join(", ")}`);
  return all.filter((one) => names.includes(nameOf(one)));
}
