/**
 * Generates a version after the current sources, so that an upgrade test always has something to change: a migration
 * that adds, a function with a changed body, and a function that replaces one that requests need. The migration of the
 * after-phase removes the old function. From then on, gateways of the current sources fail.
 */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { copySources } from "@tollgate/stage/source-versions.ts";

export interface NextVersion {
  root: string;
  /** The names of the migrations that run before the roll-out. */
  before: string;
  after: string;
}

export async function makeNextVersion(): Promise<NextVersion> {
  const root = await copySources();
  const sql = join(root, "gateway/sql");
  const last = (await readdir(join(sql, "migrations"))).filter((name) => name.endsWith(".sql")).length;
  const numbered = (more: number, what: string): string => `${String(last + more).padStart(4, "0")}_${what}.sql`;
  const [before, after] = [numbered(1, "next"), numbered(2, "next_after")];
  await writeFile(
    join(sql, "migrations", before),
    "create table next_thing (id int primary key);\nalter table account add column next_note text;\n",
  );
  await writeFile(
    join(sql, "migrations", after),
    "-- phase: after\ndrop function if exists ledger_settle;\nalter table account drop column next_note;\n",
  );
  const functions = join(sql, "functions");
  await change(join(functions, "ledger_hold.sql"), /\nbegin\n/, "\nbegin\n  -- Of the next version.\n");
  const settle = await readFile(join(functions, "ledger_settle.sql"), "utf8");
  await writeFile(
    join(functions, "ledger_settle_next.sql"),
    settle.replaceAll("ledger_settle(", "ledger_settle_next("),
  );
  await rm(join(functions, "ledger_settle.sql"));
  await change(join(functions, "ledger_settle_one.sql"), /\(ledger_settle\(/, "(ledger_settle_next(");
  await change(
    join(root, "gateway/src/ledger/settlement-sql.ts"),
    /select ledger_settle\(/,
    "select ledger_settle_next(",
  );
  await change(join(root, "gateway/package.json"), /"version": "[\d.]+"/, '"version": "99.0.0"');
  return { root, before, after };
}

async function change(file: string, pattern: RegExp, to: string): Promise<void> {
  const text = await readFile(file, "utf8");
  assert.match(text, pattern, file);
  await writeFile(file, text.replace(pattern, to));
}
