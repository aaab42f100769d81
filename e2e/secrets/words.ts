/**
 * Words that stand nowhere else, one for every way into the platform, and secrets that the platform made; and the search for them
 * afterwards. What may be kept, and where, is stated when a word is made: a name that someone chose stands in its own table only.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Query } from "@tollgate/stage/database.ts";
import type { Answer } from "../console-client.ts";

/** Names chosen by users, and the tables that may store them. Nothing else may be stored. */
const KEPT: Record<string, string[]> = {
  "a client's name": ["request", "hold"],
  "a node's name": ["node"],
  "a hardware's field": ["node"],
  "a hardware's value": ["node"],
  "an agent's name": ["node"],
  "an e-mail address": ["identity"],
  "a person's name": ["identity"],
  "an account's name": ["account"],
  "a token's name": ["host_token"],
  "a key's name": ["api_key", "request", "hold"],
  // Only of a key whose owner turned labels on.
  "a label": ["request", "hold", "label_day"],
  // What someone took for a model's name: the owner of the key sees it beside the refusal.
  model: ["refused_last"],
  "a path below /v1/models/": ["refused_last"],
};

interface Word {
  word: string;
  way: string;
  /** The tables that may have it. */
  tables: string[];
}

interface Secret {
  value: string;
  way: string;
  /** The one answer that contains a new secret. */
  shownIn: Answer | undefined;
}

export class Words {
  /** By word. */
  readonly #made = new Map<string, Word>();
  /** No answer has these, but the one that hands them out. */
  readonly secrets: Secret[] = [];

  /** A new word for this way in; letters and digits, so that nothing escapes or folds it. */
  of(way: string): string {
    const word = `marker${randomBytes(8).toString("hex")}`;
    this.#made.set(word, { word, way, tables: KEPT[way] ?? [] });
    return word;
  }

  /** A new word that no answer may have either. */
  secret(way: string): string {
    const value = this.of(way);
    this.secrets.push({ value, way, shownIn: undefined });
    return value;
  }

  /** A secret that the platform made. */
  keep(way: string, value: string, shownIn?: Answer): string {
    assert.ok(value.length >= 10, `${way} is long enough to be searched for`);
    this.secrets.push({ value, way, shownIn });
    return value;
  }

  get size(): number {
    return this.#made.size + this.secrets.length;
  }

  /** Those that may be kept somewhere. */
  get keepable(): Word[] {
    // Of refused calls only the last are kept: some of these names are gone by the end.
    return [...this.#made.values()].filter(({ tables }) => tables.some((table) => table !== "refused_last"));
  }

  /** Which words and secrets stand in this text, but those words that may. Capitals do not hide a word. */
  foundIn(place: string, text: string | Buffer, mayStand: (word: Word) => boolean = () => false): string[] {
    const whole = typeof text === "string" ? text : text.toString("latin1");
    const words = new Set([...whole.matchAll(/marker[0-9a-f]{16}/gi)].map(([word]) => word.toLowerCase()));
    const found = [...words].flatMap((word) => {
      const made = this.#made.get(word);
      return made === undefined || mayStand(made) ? [] : [made];
    });
    const secrets = this.secrets.filter(({ value }) => !this.#made.has(value) && whole.includes(value));
    return [...found, ...secrets].map(({ way }) => `${way} stands in ${place}`);
  }
}

/** Every row of every table, as text. A partition is a table of its own, named after its parent. */
export async function everyRow(query: Query): Promise<{ table: string; row: string }[]> {
  const tables = await query<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public'");
  const rows = [];
  for (const { name } of tables) {
    const found = await query<{ row: string }>(`select t::text as row from "${name}" t`);
    rows.push(...found.map(({ row }) => ({ table: name, row })));
  }
  return rows;
}

/** Every file below the data directory, by its path from there. */
export async function everyFile(dataDir: string): Promise<{ path: string; content: Buffer }[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return await Promise.all(
    files.map(async (file) => ({ path: file.slice(dataDir.length + 1), content: await readFile(file) })),
  );
}
