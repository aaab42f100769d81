/**
 * Reading a page of something that may be rare: the last day first, then more, then everything. What is common is found at
 * once, however long the history; what is rare costs little more than if everything had been asked for at first.
 */
const LOOK_BACK_DAYS = [1, 15, null];

/** `read` is given the days to look back from where the page begins; null is everything. */
export async function lookBack<Row>(limit: number, read: (days: number | null) => Promise<Row[]>): Promise<Row[]> {
  let rows: Row[] = [];
  for (const days of LOOK_BACK_DAYS) {
    rows = await read(days);
    if (rows.length === limit) break;
  }
  return rows;
}

/**
 * In SQL, after a `with` that has the stretches of time `needed` for a page of `$3`: its records, when `ids` tells those of one stretch. Ids
 * come first: where everything they are told by stands in an index, no record is read but those of the page.
 */
export const recordsOf = (columns: string, ids: string, order: "asc" | "desc" = "desc"): string => `
  select record.* from (
    select found.id from needed cross join lateral (${ids}) found order by found.id ${order} limit $3
  ) page cross join lateral (select ${columns} from request where id = page.id offset 0) record
   order by record.id ${order}`;
