/**
 * Reads and compares the functions and migrations that a release's gateways need (gateway/sql/releases). Tests use it
 * to prove that later versions keep them during a rollout.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { z } from "zod";
import { readMigrations } from "../migrations.ts";
import { queryRows, row } from "../rows.ts";
import { SQL_SOURCE_DIRECTORY } from "./sql-directory.ts";

const FunctionSignature = row({
  name: z.string(),
  /** The parameters in order, each with direction, name and type: "in p_id uuid[]". */
  parameters: z.array(z.string()),
  /** How many parameters at the end have a default. */
  optional: z.number(),
  result: z.string(),
});
/** A SQL function's signature and result type. */
export type FunctionSignature = z.infer<typeof FunctionSignature>;

const Release = z.strictObject({
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  /** The Git commit of the release. */
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  /** The number of the release's last migration. */
  schema: z.number(),
  /** The checksum of each migration, by name. */
  migrations: z.record(z.string(), z.string()),
  functions: z.array(FunctionSignature),
});
type Release = z.infer<typeof Release>;

export const RELEASES: string = join(SQL_SOURCE_DIRECTORY, "releases");

/** Reads the newest release. */
export function readLastRelease(): Release {
  const releases = readdirSync(RELEASES).map((name) =>
    Release.parse(JSON.parse(readFileSync(join(RELEASES, name), "utf8"))),
  );
  const [newest] = releases.sort((a, b) => b.version.localeCompare(a.version, "en", { numeric: true }));
  if (newest === undefined) throw new Error(`there is no release in ${RELEASES}`);
  return newest;
}

export async function readReleaseFromDatabase(
  pool: pg.Pool,
  named: Pick<Release, "version" | "commit">,
): Promise<Release> {
  const migrations = await readMigrations(SQL_SOURCE_DIRECTORY);
  return {
    ...named,
    schema: migrations.length,
    migrations: Object.fromEntries(migrations.map(({ name, sha256 }) => [name, sha256])),
    functions: await listFunctionSignatures(pool),
  };
}

/** Lists all functions of the gateway in the database. */
export function listFunctionSignatures(pool: pg.Pool): Promise<FunctionSignature[]> {
  return queryRows(
    pool,
    FunctionSignature,
    `select p.proname::text as name, p.pronargdefaults::int as optional, pg_get_function_result(p.oid) as result,
            array(select concat_ws(' ', case coalesce(p.proargmodes[a.n], 'i') when 'i' then 'in' when 'o' then 'out' when 'b'
                                          then 'inout' when 'v' then 'variadic' else 'column' end,
                                   nullif(p.proargnames[a.n], ''), format_type(a.type, null))
                    from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality a (type, n) order by a.n)
              as parameters
       from pg_proc p where p.pronamespace = current_schema()::regnamespace order by 1, p.oid`,
  );
}

/** Why calls of the old function would fail with the new one. Undefined if they would still work. */
export function findIncompatibility(old: FunctionSignature, now: FunctionSignature | undefined): string | undefined {
  if (now === undefined) return "is gone";
  if (now.result !== old.result) return `gives ${now.result} and not ${old.result}`;
  const [given, taken] = [inputs(old), inputs(now)];
  const differing = given.findIndex((parameter, at) => taken[at] !== parameter);
  if (differing >= 0) return `takes "${taken[differing] ?? "nothing"}" where it took "${given[differing]}"`;
  if (outputs(old).join() !== outputs(now).join()) return "gives other columns";
  const more = taken.length - given.length;
  if (more > 0 && now.optional < more)
    return `needs "${taken[given.length]}", which nobody gives: it must have a default`;
  if (now.optional < old.optional) return "needs a parameter that could be left out";
  return undefined;
}

const isOutput = (parameter: string): boolean => /^(out|column) /.test(parameter);
const inputs = (form: FunctionSignature): string[] => form.parameters.filter((parameter) => !isOutput(parameter));
const outputs = (form: FunctionSignature): string[] => form.parameters.filter(isOutput);

/** SQL for an empty function with the same signature, to simulate the release's database. */
export function makeEmptyFunctionSql({ name, parameters, optional, result }: FunctionSignature): string {
  const taken = parameters.filter((parameter) => !parameter.startsWith("column "));
  const inputsCount = taken.filter((parameter) => !isOutput(parameter)).length;
  let seen = 0;
  const listed = taken.map((parameter) => {
    if (isOutput(parameter)) return parameter;
    seen += 1;
    return seen > inputsCount - optional ? `${parameter} default null` : parameter;
  });
  return `create function ${name}(${listed.join(", ")}) returns ${result} language plpgsql as $$ begin end $$`;
}
