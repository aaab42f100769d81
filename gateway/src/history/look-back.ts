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
