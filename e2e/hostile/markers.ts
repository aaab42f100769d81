/**
 * Words that stand nowhere else, one for every way into the platform, and the search for them afterwards. What may be kept, and
 * where, is said when a word is made: a name that somebody chose stands in its own table and nowhere else.
 */

import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Stage } from "@tollgate/stage/stage.ts";

interface Marker {
  word: string;
  way: string;
  /** The tables that may have it. */
  tables: string[];
}

export class Markers {
  /** By word. */
  readonly #made = new Map<string, Marker>();

  /** A new word for this way in; letters and digits, so that nothing escapes or folds it. */
  of(way: string, tables: string[]): string {
    const word = `marker${randomBytes(8).toString("hex")}`;
    this.#made.set(word, { word, way, tables });
    return word;
  }

  get size(): number {
    return this.#made.size;
  }

  /** Those that may be kept somewhere. */
  get keepable(): Marker[] {
    return [...this.#made.values()].filter(({ tables }) => tables.length > 0);
  }

  /** Which words stand in this text, but those that may. Capitals do not hide one. */
  foundIn(place: string, text: string | Buffer, mayStand: (marker: Marker) => boolean = () => false): string[] {
    const whole = typeof text === "string" ? text : text.toString("latin1");
    const words = new Set([...whole.matchAll(/marker[0-9a-f]{16}/gi)].map(([word]) => word.toLowerCase()));
    return [...words].flatMap((word) => {
      const marker = this.#made.get(word);
      return marker === undefined || mayStand(marker) ? [] : [`${marker.way} stands in ${place}`];
    });
  }
}

/** Every row of every table, as text. A partition is a table of its own, named after its parent. */
export async function everyRow(stage: Stage): Promise<{ table: string; row: string }[]> {
  const tables = await stage.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  const rows = [];
  for (const { name } of tables) {
    const found = await stage.query<{ row: string }>(`select t::text as row from "${name}" t`);
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
