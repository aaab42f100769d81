/**
 * Queries for paginated lists. Long lists load further pages on demand; lists that are usually short load all pages.
 */
import { infiniteQueryOptions, type QueryKey } from "@tanstack/react-query";

const PAGE_ROWS = 100;
/**
 * The most pages that a list loads at once. They are enough for all active entries (at most 500, which come first) and
 * the newest revoked ones.
 */
const PAGES_MAX = 10;

interface Page<Row> {
  data: Row[];
  next_cursor: string | null;
}

/** A query for a list that loads page by page. `read` receives the cursor of the next page. */
export const paginatedQuery = <Answer extends { next_cursor: string | null }>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<Answer>,
) =>
  infiniteQueryOptions({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => read(pageParam),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** The number of pages of a list that are loaded; 1 for other data. */
export function countLoadedPages(data: unknown): number {
  const { pages } = (data ?? {}) as { pages?: unknown };
  return Array.isArray(pages) ? Math.max(1, pages.length) : 1;
}

/** Loads one page after another, up to PAGES_MAX. */
export async function loadEveryPage<Row>(
  read: (query: { limit: number; cursor: string | undefined }) => Promise<Page<Row>>,
  pagesMax = PAGES_MAX,
): Promise<Page<Row>> {
  const data: Row[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const page: Page<Row> = await read({ limit: PAGE_ROWS, cursor: cursor ?? undefined });
    data.push(...page.data);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  return { data, next_cursor: cursor };
}
