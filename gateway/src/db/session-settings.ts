/**
 * Settings that every connection sets, so that defaults of roles, databases or servers do not change the behavior of
 * our SQL, and settings that the server must have. A pooler may drop a connection's settings. So all are checked at the
 * start and on each new heartbeat connection.
 */
import type pg from "pg";
import { z } from "zod";
import { queryOne, row } from "./rows.ts";

/**
 * Values in PostgreSQL's spelling. Options in the URL override these, so that an operator can choose `remote_apply`.
 */
const OWN = {
  TimeZone: "UTC",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  default_transaction_isolation: "read committed",
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  transform_null_equals: "off",
  synchronous_commit: "on",
};

/** The startup options of a connection. `more`: additional options for this connection. */
export function sessionOptions(more?: string): string {
  const own = Object.entries(OWN).map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`);
  return [...own, ...(more === undefined ? [] : [more])].join(" ");
}

/** Thrown when the database works, but could lose confirmed commits or interpret times differently. */
export class DatabaseMisconfigured extends Error {
  override name = "DatabaseMisconfigured";
}

export type DurabilityMode = "checked" | "assumed";

/** How to correct a wrong setting, for the error message. */
const REMEDY = {
  server: (name: string) => `ALTER SYSTEM SET ${name} = on, then reload PostgreSQL`,
  session: (name: string, value: string) =>
    `a connection pooler or the options in DATABASE_URL change ${name}: let the pooler pass on startup options, or set ${name} for the role (ALTER ROLE … SET ${name} = '${value}')`,
};
const DURABLE = ["fsync", "full_page_writes"] as const;
/** Values of synchronous_commit that confirm commits before they are durable. */
const LOSSY_COMMITS = ["off"];

const NAMES = [...Object.keys(OWN), ...DURABLE];
const Found = row({ found: z.record(z.string(), z.string()) });
const QUESTION = `select jsonb_object_agg(name, current_setting(name)) as found from unnest($1::text[]) as n (name)`;

/** Rejects with `DatabaseMisconfigured`, which names the setting and how to change it. */
export async function checkSession(client: pg.ClientBase | pg.Pool, durability: DurabilityMode): Promise<void> {
  const { found } = await queryOne(client, Found, QUESTION, [NAMES]);
  const wrong = findWrongSetting(found, durability);
  if (wrong !== undefined) throw new DatabaseMisconfigured(wrong);
}

/** Describes the first wrong setting, or returns undefined if there is none. Pure. */
export function findWrongSetting(found: Record<string, string>, durability: DurabilityMode): string | undefined {
  const say = (name: string, why: string, remedy: string): string =>
    `the database has ${name} = ${found[name]}, ${why}: ${remedy}`;
  if (durability === "checked") {
    for (const name of DURABLE) {
      if (found[name] !== "on")
        return say(name, "so a crash can lose charges that were confirmed", REMEDY.server(name));
    }
    const commit = "synchronous_commit";
    if (LOSSY_COMMITS.includes(found[commit] as string))
      return say(commit, "so a crash can lose charges that were confirmed", REMEDY.session(commit, "on"));
  }
  const { synchronous_commit: _, ...others } = OWN;
  for (const [name, value] of Object.entries(others)) {
    if (found[name] !== value) return say(name, `and Tollgate needs ${value}`, REMEDY.session(name, value));
  }
  return undefined;
}
