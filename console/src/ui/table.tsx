/**
 * A table that hides columns one by one in narrow spaces; the first column always stays. The table's own width decides,
 * not the screen's, because the navigation or a pane may leave less. Content that replaces a hidden column uses the
 * same width: `@lg:hidden` for a column with `from: "sm"`.
 */
import { Fragment, type ReactNode } from "react";
import { joinClasses } from "./join-classes.ts";

export interface Column<Row> {
  /** The column's heading, which is also its React key. */
  title: string;
  cell?: (row: Row) => ReactNode;
  /** Used instead of `cell` if a cell depends on the other cells of its column. */
  cells?: (rows: Row[]) => (row: Row) => ReactNode;
  /** A cell at the end of the column, such as its sum. */
  foot?: (rows: Row[]) => ReactNode;
  align?: "right";
  /**
   * The minimum table width for the column: 512, 672, 896, 960 or 1,024 pixels. A screen of 1,024 pixels leaves 720 for
   * the table, one of 1,280 pixels 974.
   */
  from?: "sm" | "md" | "lg" | "page" | "xl";
  /** Shows the heading only to screen readers, as for columns of buttons. */
  hideTitle?: boolean;
  className?: string;
}

export interface TableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  /** The React key of a row. `place`: the row's index, for rows without an ID. */
  keyOf: (row: Row, place: number) => string;
  /** Opens the row, after a click anywhere in it or on the button in its first cell. */
  onOpen?: (row: Row) => void;
  isOpen?: (row: Row) => boolean;
  faded?: (row: Row) => boolean;
  /** Content below an expanded row, across all columns; undefined while it is collapsed. */
  below?: (row: Row) => ReactNode;
}

const FROM: Record<string, string> = {
  sm: "hidden @lg:table-cell",
  md: "hidden @2xl:table-cell",
  lg: "hidden @4xl:table-cell",
  page: "hidden @[60rem]:table-cell",
  xl: "hidden @5xl:table-cell",
};

/** The right padding of a column that is visually last because later columns are hidden. */
const EDGE: Record<string, string> = {
  sm: "@max-lg:pr-4",
  md: "@max-2xl:pr-4",
  lg: "@max-4xl:pr-4",
  page: "@max-[60rem]:pr-4",
  xl: "@max-5xl:pr-4",
};

function edgeOf<Row>(columns: Column<Row>[]): { last: Column<Row> | undefined; className: string | undefined } {
  const place = columns.findLastIndex(({ from }) => from === undefined);
  const after = columns.slice(place + 1).map(({ from }) => from);
  const first = Object.keys(EDGE).find((size) => after.includes(size as Column<Row>["from"]));
  return { last: columns[place], className: first && EDGE[first] };
}

export function Table<Row>({ label, columns, rows, keyOf, onOpen, isOpen, faded, below }: TableProps<Row>) {
  const edge = edgeOf(columns);
  const cells = columns.map((column) => column.cells?.(rows) ?? column.cell ?? (() => null));
  const cellClasses = (column: Column<Row>): string => {
    const { align, from } = column;
    return joinClasses(
      "px-1.5 first:pl-4 last:pr-4 sm:px-3 sm:first:pl-5 sm:last:pr-5",
      align === "right" ? "text-right" : "text-left",
      from !== undefined && FROM[from],
      column === edge.last && edge.className,
    );
  };
  return (
    <div className="@container">
      <table aria-label={label} className="w-full border-collapse">
        <thead>
          <tr className="border-y border-line bg-sunken/60 text-xs text-ink-soft first:border-t-0">
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                className={joinClasses(cellClasses(column), "h-9 font-medium whitespace-nowrap")}
              >
                <span className={column.hideTitle === true ? "sr-only" : undefined}>{column.title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            // The first cell contains a real button for keyboard users. A click on the row does the same.
            <Fragment key={keyOf(row, place)}>
              <tr
                onClick={onOpen && (() => onOpen(row))}
                aria-current={isOpen?.(row) === true ? "true" : undefined}
                className={joinClasses(
                  "border-b border-line last:border-b-0 aria-[current]:bg-accent-soft/60",
                  onOpen !== undefined && "cursor-pointer hover:bg-sunken/60",
                  faded?.(row) === true && "text-ink-soft",
                )}
              >
                {columns.map((column, i) => (
                  <td
                    key={column.title}
                    className={joinClasses(cellClasses(column), "h-12 py-2 align-middle", column.className)}
                  >
                    {i === 0 && onOpen !== undefined ? (
                      <button
                        type="button"
                        className="block w-full rounded-sm text-left"
                        onClick={(event) => {
                          event.stopPropagation();
                          onOpen(row);
                        }}
                      >
                        {cells[i]?.(row)}
                      </button>
                    ) : (
                      cells[i]?.(row)
                    )}
                  </td>
                ))}
              </tr>
              <Unfolded columns={columns.length}>{below?.(row)}</Unfolded>
            </Fragment>
          ))}
        </tbody>
        {columns.some(({ foot }) => foot !== undefined) && (
          <tfoot>
            <tr className="border-t border-line bg-sunken/60 font-medium">
              {columns.map((column, i) => (
                <td key={column.title} className={joinClasses(cellClasses(column), "h-10 py-2", column.className)}>
                  {column.foot?.(rows) ?? (i === 0 && "Total")}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

function Unfolded({ columns, children }: { columns: number; children: ReactNode }) {
  if (children === undefined) return null;
  return (
    <tr className="border-b border-line last:border-b-0">
      <td colSpan={columns} className="p-0">
        {children}
      </td>
    </tr>
  );
}
