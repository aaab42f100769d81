/** Pages of a list: `{object: "list", data, next_cursor}`. */
import type { Cursors } from "./page-cursors.ts";

/**
 * One page of a list whose rows have sortable IDs. `read` returns one row more than the page if there is another page.
 */
export async function listPage<Row, Shown>(parts: {
  cursors: Cursors;
  /** The list's name; a cursor is valid for one list only. */
  list: string;
  query: { cursor?: string | undefined; limit: number };
  read: (before: string | undefined, limit: number) => Promise<Row[]>;
  position: (row: Row) => string;
  show: (row: Row) => Shown;
  /** The position at which `read` stopped searching, if the page is not full. Called after `read`. */
  reached?: () => string | undefined;
}): Promise<{ object: "list"; data: Shown[]; next_cursor: string | null }> {
  const { cursors, list, query } = parts;
  const { cursor, limit } = query;
  const rows = await parts.read(cursor === undefined ? undefined : cursors.read(list, cursor), limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? parts.position(last) : parts.reached?.();
  return {
    object: "list",
    data: shown.map(parts.show),
    next_cursor: next === undefined ? null : cursors.write(list, next),
  };
}

/** A list that always fits on one page. */
export const singlePage = <Shown>(data: Shown[]) => ({ object: "list" as const, data, next_cursor: null });
