/**
 * `npm run engines`: tests real engines behind the real agent and a real gateway, one after the other, and prints a
 * table of supported behaviors. Exits with 1 if a behavior differs from the documented one.
 */
import { readFile, writeFile } from "node:fs/promises";
import type { BehaviourName } from "./behaviours/behaviour-names.ts";
import { BEHAVIOUR_CHECKS, SETUP_CHECKS } from "./behaviours/behaviours.ts";
import { expectFeatureUnsupported } from "./behaviours/unsupported-features.ts";
import type { EngineUnderTest } from "./engine-under-test.ts";
import { type Flags, parseFlags, USAGE } from "./flags.ts";
import { ensureTinyModel, type TinyModel } from "./model/model.ts";
import { type CheckOutcome, failedOutcome, toFailedOutcome } from "./outcome.ts";
import {
  type Column,
  hasFailed,
  mergeResultColumns,
  parseColumns,
  renderTable,
  replaceTable,
} from "./results-table.ts";
import { openStage, type Stage } from "./stage/stage.ts";

let flags: Flags;
try {
  flags = parseFlags(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
  process.exit(2);
}
if (flags.help) {
  console.log(USAGE);
  process.exit(0);
}

const model = await ensureTinyModel();
const columns: Column[] = [];
for (const engine of flags.engines) columns.push(await columnOf(engine, flags.behaviours, model));
console.log(`\n${renderTable(columns)}`);
if (flags.markdown !== undefined) {
  const document = await readFile(flags.markdown, "utf8");
  await writeFile(
    flags.markdown,
    replaceTable(document, renderTable(mergeResultColumns(parseColumns(document), columns))),
  );
}
process.exit(hasFailed(columns) ? 1 : 0);

async function columnOf(engine: EngineUnderTest, names: BehaviourName[], model: TinyModel): Promise<Column> {
  const { title, version } = engine;
  console.log(`${title} (${version})`);
  const outcomes = new Map<string, CheckOutcome>();
  const leftOut = await engine.install();
  if (leftOut !== undefined) {
    console.log(`  left out: ${leftOut}`);
    return { title, version, outcomes, leftOut };
  }
  const tell = (name: string, outcome: CheckOutcome): void => {
    outcomes.set(name, outcome);
    const more = outcome.verdict === "ok" ? outcome.detail : outcome.reason;
    console.log(`  ${name.padEnd(12)} ${outcome.verdict}${more === undefined ? "" : `: ${more}`}`);
  };
  let stage: Stage;
  try {
    stage = await openStage(engine, model);
  } catch (error) {
    tell("start", toFailedOutcome(error));
    return { title, version, outcomes };
  }
  try {
    for (const [name, behave] of Object.entries(SETUP_CHECKS)) tell(name, await behave(stage).catch(toFailedOutcome));
    for (const name of names) tell(name, await tried(stage, name));
  } finally {
    await stage.close();
  }
  return { title, version, outcomes };
}

async function tried(stage: Stage, name: BehaviourName): Promise<CheckOutcome> {
  if (!stage.host.isUp) return failedOutcome("the node does not serve");
  const reason = stage.engine.cannot[name];
  return await (reason === undefined
    ? BEHAVIOUR_CHECKS[name](stage)
    : expectFeatureUnsupported(stage, name, reason)
  ).catch(toFailedOutcome);
}
