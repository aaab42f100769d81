/**
 * Opens the engine of this machine. If that engine is unreachable, the demo model takes its place, but only with the
 * flag --demo-fallback.
 */
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { sleep } from "../clock.ts";
import {
  describeSearchedAddresses,
  type FoundEngine,
  listEngineAddresses,
  parseOllamaAddress,
} from "../engines/detect-engines.ts";
import type { EngineAbsence } from "../engines/engine-absence.ts";
import { mapCatalogueIdsToEngineModels } from "../engines/model-names.ts";
import { type ChosenEngine, chooseEngine, EngineLoadingError, makeAbsenceError } from "./choose-engine.ts";
import type { CommandContext } from "./command.ts";
import type { EngineSettings } from "./flags.ts";

export type EngineSearchContext = Pick<CommandContext, "clock" | "env" | "findEngines" | "findAbsences" | "terminal">;
type Wanted = EngineSettings & { settled: boolean; demoFallback: boolean };

/** How long to wait for an engine that is loading, and a function that reports the wait. */
interface Patience {
  waitMs: number;
  tell: (line: string) => void;
  signal: AbortSignal;
}

const LOOK_EVERY_MS = 1_000;
const TELL_EVERY_MS = 5_000;
const IMPATIENT: Patience = { waitMs: 0, tell: () => {}, signal: new AbortController().signal };

export async function openLocalEngine(
  wanted: Wanted,
  machine: EngineSearchContext,
  patience = IMPATIENT,
): Promise<ChosenEngine> {
  const { clock, terminal } = machine;
  for (const line of overrides(wanted, machine)) terminal.remark(`tollgate-host: ${line}`);
  const startedAt = clock.monotonic();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      return await look(wanted, machine);
    } catch (error) {
      const waitedMs = clock.monotonic() - startedAt;
      if (!(error instanceof EngineLoadingError) || waitedMs >= patience.waitMs || patience.signal.aborted) throw error;
      if (clock.monotonic() - toldAt >= TELL_EVERY_MS) {
        toldAt = clock.monotonic();
        patience.tell(`${error.message}; ${Math.round(waitedMs / 1000)} s so far`);
      }
      await sleep(clock, LOOK_EVERY_MS, patience.signal);
    }
  }
}

/** One line for each stored setting that the environment overrides. */
function overrides({ engine, addresses }: Wanted, { env }: EngineSearchContext): string[] {
  const [elected, now] = [addresses?.ollama, parseOllamaAddress(env.OLLAMA_HOST)];
  if (engine !== "auto" || elected === undefined || now === undefined || now === elected) return [];
  return [`looking for Ollama at ${now} (OLLAMA_HOST), but the models were chosen with Ollama at ${elected}`];
}

async function look(wanted: Wanted, machine: EngineSearchContext): Promise<ChosenEngine> {
  const { clock, env, findEngines } = machine;
  if (wanted.demoFallback) return chooseEngine(wanted, { clock, env, find: findEngines });
  const searches = wanted.engine === "auto" && wanted.modelFile === undefined;
  const found = searches ? await findEngines(listEngineAddresses(env, wanted.addresses)) : [];
  const missing = searches ? missingFrom(found, wanted.models) : undefined;
  if (missing !== undefined) throw await explained(missing, found, wanted, machine);
  try {
    return await chooseEngine(wanted, { clock, env, find: async () => found });
  } catch (error) {
    // The engine changed after `elect`, so this is no mistake in the command line.
    if (wanted.settled && error instanceof UsageError)
      throw new CommandError(error.mistakes[0] ?? error.message, { next: START_ELECTED });
    throw error;
  }
}

const DEMO = "--engine demo serves a demo model, for tests";
const START_ELECTED = `start the engine, or choose the models again with tollgate-host elect; ${DEMO}`;
const START_ANY = `start an engine with a model listed in docs/hosts/engines.md, or name a running engine with --engine openai --engine-url URL; ${DEMO}`;

function missingFrom(found: FoundEngine[], models: string[] | undefined): string | undefined {
  const held = new Set(found.flatMap((engine) => [...mapCatalogueIdsToEngineModels(engine.models).keys()]));
  if (held.size === 0) return "no engine on this machine has a model of the catalogue";
  const missing = models?.filter((model) => !held.has(model)) ?? [];
  return missing.length === 0 ? undefined : `no engine on this machine has ${missing.join(", ")} now`;
}

/** Makes the error for missing models: the searched addresses, and the next step. */
async function explained(
  missing: string,
  found: FoundEngine[],
  wanted: Wanted,
  { env, findAbsences }: EngineSearchContext,
): Promise<CommandError> {
  const addresses = listEngineAddresses(env, wanted.addresses);
  const absences = await findAbsences(addresses);
  const said = parseOllamaAddress(env.OLLAMA_HOST);
  const expected = new Set([...Object.values(wanted.addresses ?? {}), ...(said === undefined ? [] : [said])]);
  // The missing engines to report: those at addresses that were named, and others that still load a model or require a
  // key. If the models were elected (chosen) before and an address was named, the others do not count, because another
  // program may listen on an engine's usual port.
  const telling = absences.filter(({ cause, url }) => {
    if (expected.has(url)) return true;
    return !(wanted.settled && expected.size > 0) && (cause === "loading" || cause === "key");
  });
  const loading = telling.find(({ cause }) => cause === "loading");
  if (loading !== undefined) return makeAbsenceError(loading);
  const details = describeSearchedAddresses(addresses, found, absences);
  const isElsewhere = env.OLLAMA_HOST !== undefined && env.OLLAMA_HOST !== "" && said === undefined;
  if (isElsewhere)
    details.push("OLLAMA_HOST names another machine, but tollgate-host looks for engines on this machine only");
  const [key] = telling.filter(({ cause }) => cause === "key");
  const next = key === undefined ? (wanted.settled ? START_ELECTED : START_ANY) : remedyFor(key);
  return new CommandError(missing, { details, next });
}

/**
 * The next step for an engine that requires an API key. The user has to name the engine, because the agent sends no key
 * to engines that it found by search.
 */
const remedyFor = ({ url }: EngineAbsence): string =>
  `name the engine: --engine openai --engine-url ${url}, and set TOLLGATE_ENGINE_KEY to its key`;
