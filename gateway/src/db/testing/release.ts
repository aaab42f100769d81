/**
 * For tests and for making a release: what a release's gateways find in the database, written down when it is made
 * (gateway/sql/releases), so that later versions can be held to it: a gateway of the release goes on while the next one is rolled
 * out.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { z } from "zod";
import { readMigrations } from "../migrations.ts";
import { queryRows, row } from "../rows.ts";
import { SQL } from "./sql-directory.ts";

const Form = row({
  name: z.string(),
  /** In order, each with its direction, its name and its type: "in p_id uuid[]". */
  parameters: z.array(z.string()),
  /** How many of the last may be left out. */
  optional: z.number(),
  result: z.string(),
});
/** How a function is called, and what comes of it. */
export type Form = z.infer<typeof Form>;

const Release = z.strictObject({
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  /** Where its sources are in the history. */
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  /** Its last migration. */
  schema: z.number(),
  /** Checksums by name. */
  migrations: z.record(z.string(), z.string()),
  functions: z.array(Form),
});
type Release = z.infer<typeof Release>;

export const RELEASES: string = join(SQL, "releases");

/** The one before what is being worked on: the newest that was made. */
export function lastRelease(): Release {
  const releases = readdirSync(RELEASES).map((name) =>
    Release.parse(JSON.parse(readFileSync(join(RELEASES, name), "utf8"))),
  );
  const [newest] = releases.sort((a, b) => b.version.localeCompare(a.version, "en", { numeric: true }));
  if (newest === undefined) throw new Error(`there is no release in ${RELEASES}`);
  return newest;
}

export async function describeRelease(pool: pg.Pool, named: Pick<Release, "version" | "commit">): Promise<Release> {
  const migrations = await readMigrations(SQL);
  return {
    ...named,
    schema: migrations.length,
    migrations: Object.fromEntries(migrations.map(({ name, sha256 }) => [name, sha256])),
    functions: await formsOf(pool),
  };
}

/** Of every function that is ours. */
export function formsOf(pool: pg.Pool): Promise<Form[]> {
  return queryRows(
    pool,
    Form,
    `select p.proname::text as name, p.pronargdefaults::int as optional, pg_get_function_result(p.oid) as result,
            array(select concat_ws(' ', case coalesce(p.proargmodes[a.n], 'i') when 'i' then 'in' when 'o' then 'out' when 'b'
                                          then 'inout' when 'v' then 'variadic' else 'column' end,
                                   nullif(p.proargnames[a.n], ''), format_type(a.type, null))
                    from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality a (type, n) order by a.n)
              as parameters
       from pg_proc p where p.pronamespace = current_schema()::regnamespace order by 1, p.oid`,
  );
}

/** Why a gateway that calls the old form would not be served by the new one as before; undefined where it is. */
export function whyBroken(old: Form, now: Form | undefined): string | undefined {
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
const inputs = (form: Form): string[] => form.parameters.filter((parameter) => !isOutput(parameter));
const outputs = (form: Form): string[] => form.parameters.filter(isOutput);

/** A function that can be called like it and does nothing, for a database that stands at the release. */
export function standIn({ name, parameters, optional, result }: Form): string {
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
