/**
 * `npm run clients`: tests the clients that builders use, each in its pinned version, against a whole platform, and
 * prints a table. `-- --only aider,open-webui` selects clients, `--behaviours chat,401` selects checks, `--markdown
 * e2e/clients/README.md` updates their rows and columns in the table there. Lists the clients that cannot be installed.
 * Exits with 1 if a check failed.
 */
import { parseArgs } from "node:util";
import { CLIENT_CHECKS } from "./client-checks.ts";
import type { Client, ClientTraits } from "./client-interface.ts";
import { type AccountsForClientTests, type ClientPlatform, openClientPlatform } from "./client-platform.ts";
import type { Program, ProgramChecks } from "./program-interface.ts";
import { PROGRAMS } from "./programs.ts";
import {
  parseTable,
  type ResultCell,
  type ResultRow,
  readTable,
  renderTable,
  updateResultRows,
  writeTable,
} from "./results-table.ts";

/** The number of clients tested at a time. Most of them only wait, but some are whole servers. */
const AT_ONCE = 4;

const list = (text: string | undefined, known: string[], flag: string): string[] => {
  if (text === undefined) return known;
  const names = text.split(",").map((name) => name.trim());
  const strange = names.filter((name) => !known.includes(name));
  if (strange.length > 0)
    throw new Error(`--${flag}: no such name: ${strange.join(", ")}. There are: ${known.join(", ")}`);
  return names;
};

const { values } = parseArgs({
  options: { only: { type: "string" }, behaviours: { type: "string" }, markdown: { type: "string" } },
});
const tabled = CLIENT_CHECKS.filter(({ column }) => column !== "");
const only = list(
  values.only,
  PROGRAMS.map(({ id }) => id),
  "only",
);
const columns = list(
  values.behaviours,
  tabled.map(({ column }) => column),
  "behaviours",
);

const rowName = ({ name, version }: Program): string => `${name} ${version}`;

async function drive(worlds: ClientPlatform, program: Program): Promise<ResultRow> {
  const name = rowName(program);
  try {
    return { name, cells: await cellsOf(worlds, program) };
  } catch (error) {
    // A client that does not start must not end the checks of other clients.
    return { name, cells: new Map(columns.map((column) => [column, failed(error)])) };
  }
}

async function cellsOf(worlds: ClientPlatform, program: Program): Promise<ResultRow["cells"]> {
  const client = await program.load();
  if ("missing" in client) return { leftOut: client.missing };
  try {
    const world = await worlds.open();
    const asked = "checks" in client ? await client.checks(world) : checksOf(client, world, program.traits);
    const cells = new Map<string, ResultCell>();
    for (const column of columns) {
      const check = asked[column];
      if (check === undefined) continue;
      cells.set(column, await cellOf(check));
      console.error(`${rowName(program)}: ${column}: ${JSON.stringify(cells.get(column))}`);
    }
    return cells;
  } finally {
    await client.close?.();
  }
}

function checksOf(client: Client, world: AccountsForClientTests, traits: ClientTraits): ProgramChecks {
  const subject = { client, traits, world, note: () => {} };
  return Object.fromEntries(tabled.map(({ column, check }) => [column, () => check(subject)]));
}

const failed = (error: unknown): ResultCell => ({
  failed: (error as Error).message.replace(/\s+/g, " ").slice(0, 300),
});

async function cellOf(check: () => Promise<string | undefined>): Promise<ResultCell> {
  try {
    const reason = await check();
    return reason === undefined ? "ok" : { no: reason };
  } catch (error) {
    return failed(error);
  }
}

const worlds = await openClientPlatform();
const chosen = PROGRAMS.filter(({ id }) => only.includes(id));
const driven = new Map<Program, ResultRow>();
const waiting = [...chosen];
const work = async (): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
    driven.set(next, await drive(worlds, next));
};
try {
  await Promise.all(Array.from({ length: AT_ONCE }, work));
} finally {
  await worlds.end();
}
const rows = chosen.flatMap((program) => driven.get(program) ?? []);
console.log(renderTable(rows, columns));
if (values.markdown !== undefined) {
  const kept = parseTable(await readTable(values.markdown));
  const all = updateResultRows(kept, rows, columns, PROGRAMS.map(rowName));
  await writeTable(
    values.markdown,
    renderTable(
      all,
      tabled.map(({ column }) => column),
    ),
  );
}
const someFailed = rows.some(
  ({ cells }) => cells instanceof Map && [...cells.values()].some((cell) => Object.hasOwn(Object(cell), "failed")),
);
process.exit(someFailed ? 1 : 0);
