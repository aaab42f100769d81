/** A table whose rows load page by page, with its loading, error and empty states. */
import type { InfiniteData, UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { AgedQuery } from "../data/outdated-data.ts";
import { LoadMore, type PagedQuery } from "./load-more.tsx";
import { LoadedQuery } from "./loading-states.tsx";
import { Table, type TableProps } from "./table.tsx";

export interface PagedTableProps<Row> extends Omit<TableProps<Row>, "rows"> {
  query: PagedQuery & Pick<UseQueryResult<InfiniteData<{ data: Row[] }>>, "data" | "error" | "refetch"> & AgedQuery;
  /** Shown in place of the rows if there are none. */
  empty: ReactNode;
  /** A button besides the retry button if loading failed. */
  action?: ReactNode;
  /** Content between the filters and the rows. */
  above?: (rows: Row[]) => ReactNode;
}

export function PagedTable<Row>({ query, empty, action, above, ...table }: PagedTableProps<Row>) {
  return (
    <LoadedQuery query={query} action={action}>
      {({ pages }) => {
        const rows = pages.flatMap(({ data }) => data);
        if (rows.length === 0) return empty;
        return (
          <>
            {above?.(rows)}
            <Table {...table} rows={rows} />
            <LoadMore query={query} />
          </>
        );
      }}
    </LoadedQuery>
  );
}
