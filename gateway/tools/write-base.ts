/**
 * Writes gateway/sql/base.sql, the schema after all current migrations, from which new databases are created: `npx node
 * gateway/tools/write-base.ts`. Uses PostgreSQL 15 and its pg_dump, so that every supported version can read the file.
 */
import { execFileSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BASE_FILE, formatBaseSchemaHeader } from "../src/db/base-schema.ts";
import { readMigrations, SQL_DIRECTORY } from "../src/db/migrations.ts";
import { openTestDatabase } from "../src/db/testing.ts";

const OLDEST_POSTGRES = "15";

/** Excluded, because functions/ or the program creates them. */
const OTHERS = /^(migration|function_file)\b/;
/** Monthly partitions, which are created at the database's first start. */
const MONTHS = /\brequest_\d{4}_\d{2}(?!\d)/;
/**
 * Functions that create the first monthly partitions. Afterwards functions/ replaces them with the current versions.
 */
const NEEDED_FUNCTIONS = /^(uuid_floor|history_make_partitions)\(/;

/** The first rows and monthly partitions of a database. Tests compare them with the result of the migrations. */
const BEGINNING = `insert into hold_sweep (at) values (now());
insert into deployment default values;
insert into rollup_turn default values;
insert into availability_turn default values;
insert into history_kept default values;
select history_make_partitions(2);
`;

interface Part {
  name: string;
  type: string;
  sql: string;
}

/** pg_dump writes `-- Name: NAME; Type: TYPE; …` above each object. */
function partsOf(dump: string): Part[] {
  const [, ...pieces] = dump.split(/^--\n-- Name: /m);
  return pieces.map((piece) => {
    const [, name = "", type = ""] = /^(.*?); Type: (.*?);/.exec(piece) ?? [];
    const sql = piece
      .slice(piece.indexOf("\n--\n") + 4)
      .replaceAll(/^(SET |--|\\).*\n/gm, "")
      .replaceAll("public.", "");
    return { name, type, sql: sql.trim() };
  });
}

const isKept = ({ name, type }: Part): boolean => {
  if (type === "FUNCTION") return NEEDED_FUNCTIONS.test(name);
  return type !== "TRIGGER" && !OTHERS.test(name) && !MONTHS.test(name);
};

// Removes the current base, so that every migration runs.
await rm(join(SQL_DIRECTORY, BASE_FILE), { force: true });
const migrations = await readMigrations(SQL_DIRECTORY);
process.env["TEST_POSTGRES"] = OLDEST_POSTGRES;
const { connection, close } = await openTestDatabase();
if (!("host" in connection)) throw new Error("TEST_DATABASE_URL must not be set");
const { host, port, user, database } = connection;
const dump = execFileSync(
  `/usr/lib/postgresql/${OLDEST_POSTGRES}/bin/pg_dump`,
  ["--schema-only", "--no-owner", "--host", host, "--port", String(port), "--username", user, database],
  { encoding: "utf8" },
);
await close();
const text = `-- What an empty database is made from: the schema that the migrations below leave behind. Written by gateway/tools/write-base.ts.
${formatBaseSchemaHeader(migrations)}

${partsOf(dump)
  .filter(isKept)
  .map(({ sql }) => sql)
  .join("\n\n")}

${BEGINNING}`;
await writeFile(join(SQL_DIRECTORY, BASE_FILE), text);
console.log(`${BASE_FILE}: ${text.split("\n").length} lines for ${migrations.length} migrations`);
