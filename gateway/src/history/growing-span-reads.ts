/**
 * Reads a page of possibly rare rows: first the last day, then a longer span, then everything. Common rows are found at
 * once in any history. Rare rows cost little more than one full query. A step is skipped when the number of rows found
 * makes it unlikely to fill the page.
 */
/** The spans that are read one after another, in days. Null: everything. */
const NEWEST_FIRST_STEPS_DAYS = [1, 15, null];
/** The same for lists in ascending order, which start at the first record. */
export const OLDEST_FIRST_STEPS_DAYS = [1 / 8, null];

/** `read` gets the number of days to read from the page's start. Null: everything. */
export async function readInGrowingSpans<Row>(
  limit: number,
  read: (days: number | null) => Promise<Row[]>,
  steps = NEWEST_FIRST_STEPS_DAYS,
): Promise<Row[]> {
  let rows: Row[] = [];
  let perDay = Number.POSITIVE_INFINITY;
  for (const days of steps) {
    if (days !== null && perDay * days < limit) continue;
    rows = await read(days);
    if (rows.length === limit || days === null) break;
    perDay = rows.length / days;
  }
  return rows;
}

/**
 * SQL that reads the records of a page of `$3`. It follows a `with` that defines the time ranges `needed`; `ids`
 * selects the IDs of one range. IDs are selected first: if an index covers the selection, only the page's records are
 * read.
 */
export const buildRecordsPageSql = (columns: string, ids: string, order: "asc" | "desc" = "desc"): string => `
  select record.* from (
    select found.id from needed cross join lateral (${ids}) found order by found.id ${order} limit $3
  ) page cross join lateral (select ${columns} from request where id = page.id offset 0) record
   order by record.id ${order}`;

export const MIN_UUID = "00000000-0000-0000-0000-000000000000";
export const MAX_UUID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * An SQL condition for IDs in a span. `$2`: before (or after, if oldest first), `$4`: from, `$5`: to. IDs contain the
 * time, so a time span is an index range.
 */
export const buildIdSpanCondition = (oldestFirst = false): string => `id ${oldestFirst ? ">" : "<"} $2
  and id >= coalesce(uuid_floor($4::timestamptz), '${MIN_UUID}') and id < coalesce(uuid_floor($5::timestamptz), '${MAX_UUID}')`;

/**
 * SQL for a page of the records of owner `$1`. The owner is compared as a one-element array and comes first in the
 * order, so that only the index on both columns fits. Otherwise the planner would read everyone's records by ID until
 * it finds the owner's, which takes long for an owner without recent requests.
 */
export const buildOwnerPageSql = (columns: string, owner: string): string =>
  `select ${columns} from request where ${owner} = any (array[$1::uuid]) and ${buildIdSpanCondition()} order by ${owner} desc, id desc limit $3`;
