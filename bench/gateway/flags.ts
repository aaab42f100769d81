/** The flags of `npm run bench -- gateway`, and the targets they choose from. Every mistake is reported, each naming its flag. */
import { parseArgs } from "node:util";
import { SCENARIO_NAMES, type ScenarioName } from "./scenarios.ts";
import { bare, direct, nginx, portkey } from "./targets/peers.ts";
import type { StartTarget } from "./targets/target.ts";
import { tollgate, tollgateScripted } from "./targets/tollgate.ts";

/** The engine alone comes first: the others are compared with it. */
export const TARGETS = {
  direct,
  nginx,
  bare,
  portkey,
  tollgate,
  "tollgate-scripted": tollgateScripted,
} satisfies Record<string, StartTarget>;
type TargetName = keyof typeof TARGETS;
const TARGET_NAMES = Object.keys(TARGETS) as TargetName[];

export const HELP = `Usage: npm run bench -- gateway [flags]
  --quick            short runs, once each: shows that all works
  --targets a,b      ${TARGET_NAMES.join(", ")} (all; direct is always among them)
  --scenarios x,y    ${SCENARIO_NAMES.join(", ")} (all)
  --repeats N        how often each is measured (3; 1 with --quick)
  --beside DIR       also the gateway of another checkout, as the target "beside", or "beside-scripted"
  --profile          also where the time of our own processes goes; their figures are then higher
  --no-pin           let the system place the processes
  --out DIR          where results go (bench/gateway/out/TIME)`;

export interface Flags {
  quick: boolean;
  targets: TargetName[];
  scenarios: ScenarioName[];
  repeats: number;
  /** Another checkout. */
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
      quick: { type: "boolean", default: false },
      targets: { type: "string", default: TARGET_NAMES.join(",") },
      scenarios: { type: "string", default: SCENARIO_NAMES.join(",") },
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
  const repeats = Number(values.repeats ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(repeats) || repeats < 1) mistakes.push("--repeats must be a whole number of 1 or more");
  const flags: Flags = {
    quick: values.quick,
    targets: chosen("targets", `direct,${values.targets}`, TARGET_NAMES),
    scenarios: chosen("scenarios", values.scenarios, SCENARIO_NAMES),
    repeats,
    beside: values.beside,
    profile: values.profile,
    pin: !values["no-pin"],
    out: values.out,
    help: values.help,
  };
  if (mistakes.length > 0) throw new Error(mistakes.join("; "));
  return flags;
}
