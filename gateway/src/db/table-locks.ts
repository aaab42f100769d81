/**
 * Determines from a migration's SQL which tables it locks, for `tollgate migrate --plan`. Each rule recognizes a form
 * of statement that blocks writes or reads of an existing table. Statements that match no rule are reported as unknown.
 * Tables created in the same run are not reported, because nothing uses them yet.
 */
import { splitStatements } from "./split-sql-statements.ts";

export interface TableLock {
  line: number;
  /** The table that is locked. */
  table: string;
  what: string;
}

interface Rule {
  /** Matches the statement. The first group is the table. */
  form: RegExp;
  what: string | undefined;
}

const MOMENT = "waits for running statements on the table and blocks new ones; quick once it starts";
const REWRITE = "may rewrite the whole table; no one can read or write the table meanwhile";
const READ = "scans the whole table; no one can read or write the table meanwhile";

/** For each statement, the first matching rule applies. */
const RULES: Rule[] = [
  { form: /^create (?:unique )?index concurrently .*?\bon (?:only )?(\w+)/i, what: undefined },
  {
    form: /^create (?:unique )?index .*?\bon (?:only )?(\w+)/i,
    what: "blocks writes to the table while the index is built; use create index concurrently (-- transaction: none)",
  },
  { form: /^alter table (?:if exists )?(?:only )?(\w+) validate constraint/i, what: undefined },
  {
    form: /^alter table (?:if exists )?(?:only )?(\w+) .*\balter (?:column )?\w+ (?:set data )?type\b/i,
    what: REWRITE,
  },
  { form: /^alter table (?:if exists )?(?:only )?(\w+) .*\badd .*\bgenerated always as .*\bstored\b/i, what: REWRITE },
  {
    form: /^alter table (?:if exists )?(?:only )?(\w+) .*\badd (?:column )?.*\bdefault (?!now\(\)|current_timestamp|false|true|null|-?\d|')/i,
    what: REWRITE,
  },
  { form: /^alter table (?:if exists )?(?:only )?(\w+) .*\bset not null\b/i, what: READ },
  {
    form: /^alter table (?:if exists )?(?:only )?(\w+) (?!.*\bnot valid\b).*\b(?:check \(|references\b|unique\b|primary key\b|exclude\b)/i,
    what: READ,
  },
  { form: /^(?:alter|drop) table (?:if exists )?(?:only )?(\w+)/i, what: MOMENT },
  {
    form: /^update (?:only )?(\w+)/i,
    what: "updates rows and locks them until the migration ends",
  },
  {
    form: /^delete from (?:only )?(\w+)/i,
    what: "deletes rows and locks them until the migration ends",
  },
  { form: /^truncate (?:table )?(?:only )?(\w+)/i, what: MOMENT },
  { form: /^lock (?:table )?(?:only )?(\w+)/i, what: "keeps the table locked until the migration ends" },
];

/** Matches statements that block no table in use. */
const HARMLESS =
  /^(?:create (?:table|type|domain|sequence|view|extension|schema)|comment on|insert into|drop (?:function|trigger|index|view|type)|grant|revoke|set (?:local )?\w|analyze|select)\b/i;

/** `made`: the tables that this run has created so far. Tables that the statement creates are added. */
export function findTableLocks(sql: string, made: Set<string>): TableLock[] {
  return splitStatements(sql).flatMap(({ line, text }) => {
    const created = /^create (?:unlogged )?table (?:if not exists )?(\w+)/i.exec(text)?.[1];
    if (created !== undefined) made.add(created.toLowerCase());
    for (const { form, what } of RULES) {
      const table = form.exec(text)?.[1]?.toLowerCase();
      if (table === undefined) continue;
      return what === undefined || made.has(table) ? [] : [{ line, table, what }];
    }
    return HARMLESS.test(text) ? [] : [{ line, table: "", what: `unknown locking behaviour: ${shortened(text)}` }];
  });
}

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
