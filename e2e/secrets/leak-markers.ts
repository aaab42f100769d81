/**
 * Makes a unique word for every input of the platform, records the secrets that the platform made, and searches for
 * both. Each word has a list of the tables that may store it: a name that a user chose may be only in its own table.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Query } from "@tollgate/stage/stage-database.ts";
import type { ConsoleResponse } from "../console-client.ts";

/** The inputs that may be stored, such as names chosen by users, with the tables that may store them. */
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
  // Stored only for a key whose owner enabled labels.
  "a label": ["request", "hold", "label_day"],
  // A model name that a client sent: the key's owner sees it with the refused request.
  model: ["refused_last"],
  "a path below /v1/models/": ["refused_last"],
};

interface Word {
  word: string;
  way: string;
  /** The tables that may store the word. */
  tables: string[];
}

interface Secret {
  value: string;
  way: string;
  /** The only response that may contain the secret: the one that issued it. */
  shownIn: ConsoleResponse | undefined;
}

export class LeakMarkers {
  /** The words made so far, each with its input and the tables that may store it. */
  readonly #made = new Map<string, Word>();
  /** Secrets that no response may contain, except the one that issued them. */
  readonly secrets: Secret[] = [];

  /**
   * Makes a marker for this way into the platform, such as a header or a field. The marker has only letters and digits,
   * so that no encoding changes it.
   */
  of(way: string): string {
    const word = `marker${randomBytes(8).toString("hex")}`;
    this.#made.set(word, { word, way, tables: KEPT[way] ?? [] });
    return word;
  }

  /** Makes a word for a secret input. It is searched for like any other word, and no response may contain it either. */
  secret(way: string): string {
    const value = this.of(way);
    this.secrets.push({ value, way, shownIn: undefined });
    return value;
  }

  /** Records a secret that the platform made. */
  keep(way: string, value: string, shownIn?: ConsoleResponse): string {
    assert.ok(value.length >= 10, `${way} is long enough to be searched for`);
    this.secrets.push({ value, way, shownIn });
    return value;
  }

  get size(): number {
    return this.#made.size + this.secrets.length;
  }

  /** The words that must be found in some table. */
  get keepable(): Word[] {
    // Words that only `refused_last` stores are left out: the table keeps only the latest refused requests.
    return [...this.#made.values()].filter(({ tables }) => tables.some((table) => table !== "refused_last"));
  }

  /** Returns the inputs whose words or secrets the text contains, except the allowed ones. Ignores case in words. */
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

/** Returns every row of every table as text. A partition counts as its parent table. */
export async function readAllRows(query: Query): Promise<{ table: string; row: string }[]> {
  const tables = await query<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public'");
  const rows = [];
  for (const { name } of tables) {
    const found = await query<{ row: string }>(`select t::text as row from "${name}" t`);
    rows.push(...found.map(({ row }) => ({ table: name, row })));
  }
  return rows;
}

/** Returns every file in the data directory, by its relative path. */
export async function readAllFiles(dataDir: string): Promise<{ path: string; content: Buffer }[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return await Promise.all(
    files.map(async (file) => ({ path: file.slice(dataDir.length + 1), content: await readFile(file) })),
  );
}
