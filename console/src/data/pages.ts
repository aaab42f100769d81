/** Lists in pages. Long ones are read on demand; usually short ones completely. */
import { infiniteQueryOptions, type QueryKey } from "@tanstack/react-query";

const PAGE_ROWS = 100;
/** Active entries come first and are limited to 500, so all of them are included; of revoked ones, the newest. */
const PAGES_MAX = 10;

interface Page<Row> {
  data: Row[];
  next_cursor: string | null;
}

/** The query of a list that is read page by page; `read` gets where the next page continues. */
export const pageByPage = <Answer extends { next_cursor: string | null }>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<Answer>,
) =>
  infiniteQueryOptions({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => read(pageParam),
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** How many pages of a list were read so far; anything else is one. */
export function pagesIn(data: unknown): number {
  const { pages } = (data ?? {}) as { pages?: unknown };
  return Array.isArray(pages) ? Math.max(1, pages.length) : 1;
}

/** One page after the other, and an end for whoever has thousands. */
export async function everyPage<Row>(
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
