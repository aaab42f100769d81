/** The flags of `npm run chaos`. */
import { parseArgs } from "node:util";
import { FAULTS, type Fault, ROLLING_UPGRADE } from "./faults.ts";

export interface Flags {
  minutes: number;
  /** Causes each fault this many times, instead of running for a number of minutes. */
  rounds: number | undefined;
  /** Also enforces the rules that can only be kept on a machine without other work. */
  strict: boolean;
  seed: number;
  faults: Fault[];
  /** Starts the gateways with the previous release. The first fault is a rolling upgrade to the current sources. */
  upgrade: boolean;
  from: string | undefined;
  postgres: number;
  nats: string;
  json: string | undefined;
  keep: boolean;
}

export const USAGE = `Usage: npm run chaos -- [flags]
  --minutes M        how long (default 3)
  --rounds N         each fault so many times instead, however long that takes
  --strict           on a machine that is free: refusals, delays and blame that no fault explains are violations too
  --seed N           which order (default: of the time)
  --faults A,B       which faults, by name or by a part of it; default all that the time allows, "list" lists them
  --postgres MAJOR   18 (npm's, default) or 15 (Debian's)
  --nats RELEASE     newest (default), oldest, or the path of a nats-server
  --from REV         what the rolling upgrade starts from (default: the newest tag, else the last release)
  --json FILE        the report, for other programs
  --keep             keep the logs, also of a good run`;

/** Faults that last longer than this many seconds occur only in runs of at least ten minutes, or if they are named. */
const SHORT = { faultSecondsMax: 12, runMinutesMax: 10 };

export function parseFlags(args: string[]): Flags {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args,
    options: {
      ...{ minutes: text, rounds: text, seed: text, faults: text, postgres: text, nats: text, from: text, json: text },
      keep: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
    },
  });
  const rounds = values.rounds === undefined ? undefined : numberOf("rounds", values.rounds);
  const minutes = numberOf("minutes", values.minutes ?? "3");
  const seed = numberOf("seed", values.seed ?? String(Date.now() % 1_000_000));
  const { chosen, upgrade } = chooseFaults(values.faults ?? "all", minutes);
  return {
    ...{
      minutes,
      rounds,
      strict: values.strict,
      seed,
      upgrade,
      from: values.from,
      json: values.json,
      keep: values.keep,
    },
    faults: chosen,
    postgres: numberOf("postgres", values.postgres ?? "18"),
    nats: values.nats ?? "newest",
  };
}

function chooseFaults(names: string, minutes: number): { chosen: Fault[]; upgrade: boolean } {
  if (names === "all") {
    const fits = ({ lasts }: Fault): boolean => minutes >= SHORT.runMinutesMax || lasts <= SHORT.faultSecondsMax;
    return { chosen: FAULTS.filter(fits), upgrade: true };
  }
  const all = [...FAULTS, ROLLING_UPGRADE];
  const chosen = names.split(",").flatMap((word) => {
    const name = word.trim();
    const exact = all.filter((fault) => fault.name === name);
    const found = exact.length > 0 ? exact : all.filter((fault) => fault.name.includes(name));
    if (found.length === 0) throw new Error(`there is no fault '${name}': --faults list names them`);
    return found;
  });
  return { chosen: chosen.filter((fault) => fault !== ROLLING_UPGRADE), upgrade: chosen.includes(ROLLING_UPGRADE) };
}

function numberOf(flag: string, value: string): number {
  const number = Number(value);
  if (!Number.isFinite(number) || number < 0) throw new Error(`--${flag} must be a number`);
  return number;
}
