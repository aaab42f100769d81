/** `npm run enemies`: runs each attack beside honest nodes and builders, and prints a table (see README.md). */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { AttackStrategy } from "./attack-strategy.ts";
import { measureStrategy } from "./measure-strategy.ts";
import { findBrokenLimits, formatAttackTable, type Report, type StrategyRow } from "./report.ts";
import { STRATEGIES } from "./strategies.ts";

const USAGE = `Usage: npm run enemies -- [part of a name…] [flags]
  --seconds N     how long each phase lasts: one without the enemy, one beside it (default 60)
  --out FILE      writes the rows as JSON; rows of other strategies that the file has are kept
  --table FILE    writes the table as Markdown
  --judge         compares with before.json, and ends with 1 where a limit is broken
  --strict        judges by the machine's clock, too: on a machine that does nothing else
  --list          names the strategies`;

const BEFORE = new URL("./before.json", import.meta.url);

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

function usage(message: string): never {
  console.error(`${message}\n${USAGE}`);
  process.exit(2);
}

function chosen(names: string[]): AttackStrategy[] {
  const of = (name: string): AttackStrategy[] => {
    const exact = STRATEGIES.filter((strategy) => strategy.name === name);
    const found = exact.length > 0 ? exact : STRATEGIES.filter((strategy) => strategy.name.includes(name));
    return found.length > 0 ? found : usage(`No strategy has "${name}" in its name; --list names them.`);
  };
  return names.length === 0 ? STRATEGIES : names.flatMap(of);
}

const readReport = async (file: string | URL): Promise<Report> => JSON.parse(await readFile(file, "utf8")) as Report;

/** Replaces earlier rows by new ones, in the order of the list of attacks. */
function merged(old: StrategyRow[], rows: StrategyRow[]): StrategyRow[] {
  const all = new Map([...old, ...rows].map((row) => [row.name, row]));
  return STRATEGIES.flatMap(({ name }) => all.get(name) ?? []);
}

async function main(): Promise<number> {
  const options = {
    seconds: { ...text, default: "60" },
    out: text,
    table: text,
    judge: flag,
    strict: flag,
    list: flag,
  };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const strategies = chosen(positionals);
  if (values.list) {
    for (const { name, known, does } of strategies) console.log(`${known ?? "new"}\t${name}: ${does}`);
    return 0;
  }
  const seconds = Number(values.seconds);
  if (!Number.isInteger(seconds) || seconds < 1) usage("--seconds must be a whole number of at least 1.");
  const before = values.judge ? (await readReport(BEFORE)).rows : [];
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const rows: StrategyRow[] = [];
  let broken = 0;
  for (const strategy of strategies) {
    const row = await measureStrategy(strategy, seconds).catch((error: Error) => error);
    if (row instanceof Error) {
      console.error(`    ${strategy.name} could not be measured: ${row.stack}`);
      broken += 1;
      continue;
    }
    rows.push(row);
    console.log(
      formatAttackTable({ commit, rows: [row] })
        .trimEnd()
        .split("\n")
        .at(-1),
    );
    if (Object.keys(row.honest_saw).length > 0)
      console.log(`    honest builders saw ${JSON.stringify(row.honest_saw)}`);
    for (const error of row.enemy_errors) console.log(`    the enemy met: ${error}`);
    for (const what of values.judge
      ? findBrokenLimits(
          row,
          before.find(({ name }) => name === row.name),
          values,
        )
      : []) {
      console.log(`    BROKEN: ${what}`);
      broken += 1;
    }
    if (values.out !== undefined) {
      const old = await readReport(values.out).catch(ifMissing);
      await writeFile(values.out, `${JSON.stringify({ commit, rows: merged(old.rows, rows) }, undefined, 2)}\n`);
    }
  }
  if (values.table !== undefined) {
    const all = values.out === undefined ? { commit, rows } : await readReport(values.out);
    await writeFile(values.table, formatAttackTable(all));
  }
  return broken === 0 ? 0 : 1;
}

function ifMissing(error: NodeJS.ErrnoException): Report {
  if (error.code !== "ENOENT") throw error;
  return { commit: "", rows: [] };
}

process.exitCode = await main();
