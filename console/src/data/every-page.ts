/** A list that is short for almost everybody, read whole: page after page, and an end for whoever has thousands. */

const PAGE_ROWS = 100;
/** What works comes first and is bounded at 500, so all of it is among these; of what was revoked, the newest. */
const PAGES_MAX = 10;

interface Page<Row> {
  data: Row[];
  next_cursor: string | null;
}

export async function everyPage<Row>(
  read: (query: { limit: number; cursor?: string }) => Promise<Page<Row>>,
): Promise<Page<Row>> {
  const data: Row[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page: Page<Row> = await read({ limit: PAGE_ROWS, ...(cursor !== null && { cursor }) });
    data.push(...page.data);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  return { data, next_cursor: cursor };
}
