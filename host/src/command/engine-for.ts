/** The engine that a machine serves with. On a machine that logged in nothing stands in for an engine that is away. */

import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { sleep } from "../clock.ts";
import type { Absence } from "../engines/absence.ts";
import { addressesFor, type FoundEngine, ollamaAddress } from "../engines/detect.ts";
import { mapModels } from "../engines/models.ts";
import { absent, type ChosenEngine, chooseEngine, EngineLoading, holdsNothing } from "./choose-engine.ts";
import type { CommandContext } from "./command.ts";
import type { EngineSettings } from "./flags.ts";

export type Machine = Pick<CommandContext, "clock" | "env" | "findEngines" | "findAbsences" | "terminal">;
type Wanted = EngineSettings & { settled: boolean; standIn: boolean };

/** How long to wait for an engine that is still loading, and who is told. */
interface Patience {
  waitMs: number;
  tell: (line: string) => void;
  signal: AbortSignal;
}

const LOOK_EVERY_MS = 1_000;
const TELL_EVERY_MS = 5_000;
const IMPATIENT: Patience = { waitMs: 0, tell: () => {}, signal: new AbortController().signal };

export async function engineFor(wanted: Wanted, machine: Machine, patience = IMPATIENT): Promise<ChosenEngine> {
  const { clock, terminal } = machine;
  for (const line of overrides(wanted, machine)) terminal.remark(`tollgate-host: ${line}`);
  const startedAt = clock.monotonic();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      return await look(wanted, machine);
    } catch (error) {
      const waitedMs = clock.monotonic() - startedAt;
      if (!(error instanceof EngineLoading) || waitedMs >= patience.waitMs || patience.signal.aborted) throw error;
      if (clock.monotonic() - toldAt >= TELL_EVERY_MS) {
        toldAt = clock.monotonic();
        patience.tell(`${error.message}; ${Math.round(waitedMs / 1000)} s so far`);
      }
      await sleep(clock, LOOK_EVERY_MS, patience.signal);
    }
  }
}

/** What is remembered and yet not used, a line each. */
function overrides({ engine, addresses }: Wanted, { env }: Machine): string[] {
  const [elected, now] = [addresses?.ollama, ollamaAddress(env.OLLAMA_HOST)];
  if (engine !== "auto" || elected === undefined || now === undefined || now === elected) return [];
  return [`OLLAMA_HOST says that ollama is at ${now}; when it was elected it was at ${elected}`];
}

async function look(wanted: Wanted, { clock, env, findEngines, findAbsences }: Machine): Promise<ChosenEngine> {
  if (wanted.standIn) return chooseEngine(wanted, { clock, env, find: findEngines });
  const searches = wanted.engine === "auto" && wanted.modelFile === undefined;
  const found = searches ? await findEngines(addressesFor(env, wanted.addresses)) : [];
  const missing = searches ? missingFrom(found, wanted.models) : undefined;
  if (missing !== undefined) {
    const absences = await findAbsences(addressesFor(env, wanted.addresses));
    throw explained(missing, found, worthTelling(absences, wanted, ollamaAddress(env.OLLAMA_HOST)), env.OLLAMA_HOST);
  }
  try {
    return await chooseEngine(wanted, { clock, env, find: async () => found });
  } catch (error) {
    // Not a mistake in this command line: the engine is not what it was when it was chosen.
    if (wanted.settled && error instanceof UsageError) throw new EngineMissing(error.mistakes[0] ?? error.message);
    throw error;
  }
}

/** Nothing more is known of why it is missing. */
export class EngineMissing extends CommandError {
  override name = "EngineMissing";
  constructor(message: string) {
    super(message, { next: "start the engine, or choose again with tollgate-host elect" });
  }
}

function missingFrom(found: FoundEngine[], models: string[] | undefined): string | undefined {
  const held = new Set(found.flatMap((engine) => [...mapModels(engine.models).keys()]));
  if (held.size === 0) return "no engine on this machine holds a model of the catalogue";
  const missing = models?.filter((model) => !held.has(model)) ?? [];
  return missing.length === 0 ? undefined : `no engine on this machine holds ${missing.join(", ")} now`;
}

/** Where an engine was elected or said to be it is missed; at a usual port anybody may listen, or nobody. */
function worthTelling(absences: Absence[], { addresses = {}, settled }: Wanted, said: string | undefined): Absence[] {
  const expected = new Set([...Object.values(addresses), ...(said === undefined ? [] : [said])]);
  return absences.filter(({ cause, url }) => {
    if (expected.has(url)) return true;
    return !(settled && expected.size > 0) && (cause === "loading" || cause === "key");
  });
}

function explained(
  missing: string,
  found: FoundEngine[],
  absences: Absence[],
  ollamaHost: string | undefined,
): CommandError {
  const loading = absences.find(({ cause }) => cause === "loading");
  if (loading !== undefined) return absent(loading);
  const [absence] = absences;
  if (absence !== undefined) return new CommandError(`${missing}: ${absence.what}`, { next: remedyFor(absence) });
  const empty = found.find(({ models }) => models.length === 0);
  if (empty !== undefined) {
    const { message, next } = holdsNothing(empty);
    return new CommandError(`${missing}: ${message}`, next === undefined ? {} : { next });
  }
  const elsewhere = ollamaHost !== undefined && ollamaHost !== "" && ollamaAddress(ollamaHost) === undefined;
  if (!elsewhere) return new EngineMissing(missing);
  return new CommandError(`${missing}, and OLLAMA_HOST means another one`, {
    next: "name an engine elsewhere with --engine openai --engine-url URL",
  });
}

/** An engine that is looked for is not given a key: it has to be named. */
const remedyFor = ({ cause, url, next }: Absence): string =>
  cause === "key" ? `name it with --engine openai --engine-url ${url}, with its key in TOLLGATE_ENGINE_KEY` : next;
