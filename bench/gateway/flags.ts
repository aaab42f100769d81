/**
 * Parses the flags of `npm run bench -- gateway` and selects the targets (the gateways to measure). An error names the
 * wrong flag.
 */
import { parseArgs } from "node:util";
import { SCENARIO_NAMES, type ScenarioName } from "./scenarios.ts";
import { bifrost } from "./targets/bifrost.ts";
import { bareProxy, directEngine, nginx, portkey } from "./targets/comparison-targets.ts";
import { litellm } from "./targets/litellm.ts";
import { newApi, newApiPostgres } from "./targets/new-api-gateway.ts";
import type { StartTarget } from "./targets/target.ts";
import { scriptedTollgate, tollgate } from "./targets/tollgate.ts";

/** The engine without a gateway comes first, because the others are compared with it. */
export const TARGETS = {
  direct: directEngine,
  nginx,
  bare: bareProxy,
  portkey,
  "new-api": newApi,
  "new-api-postgres": newApiPostgres,
  litellm,
  bifrost,
  tollgate,
  "tollgate-scripted": scriptedTollgate,
} satisfies Record<string, StartTarget>;
type TargetName = keyof typeof TARGETS;
const TARGET_NAMES = Object.keys(TARGETS) as TargetName[];

/**
 * The selection that bench/performance.md shows: a few scenarios of different kinds, and one target for each program.
 */
const RECORDED = {
  targets: TARGET_NAMES.filter((name) => name !== "tollgate-scripted"),
  scenarios: ["chat-c64", "streams-100", "chat-pair"] satisfies ScenarioName[],
  repeats: 2,
};

export const HELP = `Usage: npm run bench -- gateway [flags]
  --record           for bench/performance.md: ${RECORDED.scenarios.join(", ")}, ${RECORDED.repeats} repeats, the result kept in bench/gateway/results
  --quick            short runs, once each: shows that all works
  --targets a,b      ${TARGET_NAMES.join(", ")} (all; direct is always among them)
  --scenarios x,y    ${SCENARIO_NAMES.join(", ")} (all)
  --repeats N        how often each is measured (3; 1 with --quick)
  --beside DIR       also the gateway of another checkout, as the target "beside", or "beside-scripted"
  --profile          also where the time of our own processes goes; their figures are then higher
  --no-pin           let the system place the processes
  --out DIR          where results go (bench/gateway/out/TIME)`;

export interface Flags {
  record: boolean;
  quick: boolean;
  targets: TargetName[];
  scenarios: ScenarioName[];
  repeats: number;
  /** The directory of another checkout, which is measured in the same run. */
  beside: string | undefined;
  profile: boolean;
  pin: boolean;
  out: string | undefined;
  help: boolean;
}

export function parseFlags(args: string[]): Flags {
  const { values } = parseArgs({
    args,
    options: {
      record: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      targets: { type: "string" },
      scenarios: { type: "string" },
      repeats: { type: "string" },
      beside: { type: "string" },
      profile: { type: "boolean", default: false },
      "no-pin": { type: "boolean", default: false },
      out: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const mistakes: string[] = [];
  const chosen = <Name extends string>(flag: string, text: string, all: readonly Name[]): Name[] => {
    const asked = text.split(",").map((name) => name.trim());
    const unknown = asked.filter((name) => !all.some((known) => known === name));
    if (unknown.length > 0) mistakes.push(`--${flag}: there is no ${unknown.join(", ")}; there is ${all.join(", ")}`);
    return all.filter((name) => asked.includes(name));
  };
  const unasked = values.record ? RECORDED : { targets: TARGET_NAMES, scenarios: SCENARIO_NAMES, repeats: 3 };
  const repeats = Number(values.repeats ?? (values.quick ? 1 : unasked.repeats));
  if (!Number.isInteger(repeats) || repeats < 1) mistakes.push("--repeats must be a whole number of 1 or more");
  const flags: Flags = {
    record: values.record,
    quick: values.quick,
    targets: chosen("targets", `direct,${values.targets ?? unasked.targets.join(",")}`, TARGET_NAMES),
    scenarios: chosen("scenarios", values.scenarios ?? unasked.scenarios.join(","), SCENARIO_NAMES),
    repeats,
    beside: values.beside,
    profile: values.profile,
    pin: !values["no-pin"],
    out: values.out,
    help: values.help,
  };
  if (flags.record && flags.quick) mistakes.push("--record: quick runs are not for quoting");
  if (mistakes.length > 0) throw new Error(mistakes.join("; "));
  return flags;
}
