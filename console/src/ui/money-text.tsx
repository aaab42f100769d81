/**
 * Shows the API's amounts. Within sentences they are short, with the exact amount on hover. Elsewhere they show every
 * digit, with the same number of decimals on the whole page (`SharedDecimalPlaces`). Balances and sums show the digits
 * below a cent smaller.
 */
import type { ReactNode } from "react";
import {
  decimalsNeeded,
  formatColumnDollars,
  formatExactDollars,
  formatShortDollars,
  toPico,
} from "../dollar-amounts.ts";
import { Skeleton } from "./loading-states.tsx";
import { useSharedDecimalPlaces } from "./shared-decimal-places.tsx";
import type { Column } from "./table.tsx";

/** Splits an amount into "$4.99" and the digits below a cent. */
const BELOW_CENT = /^(.*[.,]\d\d)(\d+)$/;

interface MoneyProps {
  /** Microdollars as the API's text, or picodollars. */
  of: string | bigint;
  /**
   * `charge`: within a sentence, rounded up. `balance`: a balance or a sum of rows. `chosen`: set by a person, such as
   * a budget.
   */
  as?: "charge" | "balance" | "chosen";
  /** Shows every digit in the same font size. */
  exact?: boolean;
}

export function MoneyText({ of, as = "charge", exact = false }: MoneyProps) {
  const pico = toPico(of);
  if (exact) return <Amount pico={pico} />;
  if (as === "balance") return <Balance pico={pico} />;
  const whole = formatExactDollars(pico);
  return (
    <data value={whole} title={whole}>
      {as === "chosen" ? whole : formatShortDollars(pico, "up")}
    </data>
  );
}

function Balance({ pico }: { pico: bigint }) {
  const places = useSharedDecimalPlaces(decimalsNeeded([pico]));
  const whole = formatExactDollars(pico);
  const text = formatColumnDollars(pico, places);
  const [, cents, finer] = BELOW_CENT.exec(text) ?? [];
  return (
    <data value={whole} title={whole} data-figure="" className="whitespace-nowrap">
      {cents === undefined ? (
        text
      ) : (
        <>
          {cents}
          <span className="text-[0.72em] font-medium text-ink-soft">{finer}</span>
        </>
      )}
    </data>
  );
}

interface MoneyColumnParts<Row> extends Pick<Column<Row>, "title" | "from" | "className"> {
  /** The row's amount: null if the row has none, undefined until loaded. */
  of: (row: Row) => string | bigint | null | undefined;
  /** Content below the amount. */
  below?: (row: Row) => ReactNode;
  /** Shows a plus before positive amounts. */
  signed?: boolean;
  /** Shows the sum of the visible rows at the end of the column. */
  total?: boolean;
}

/** A column of amounts with all digits and aligned decimal points, so that rows visibly add up. */
export function moneyColumn<Row>(parts: MoneyColumnParts<Row>): Column<Row> {
  const { of, below, signed = false, total = false, ...column } = parts;
  const amountsOf = (rows: Row[]): bigint[] => rows.map((row) => toPico(of(row) ?? 0n));
  return {
    ...column,
    align: "right",
    cells: (rows) => {
      const places = decimalsNeeded(amountsOf(rows));
      return (row) => {
        const amount = of(row);
        return (
          <>
            {amount === undefined && <Skeleton className="inline-block h-4 w-14" />}
            {amount === null && <span className="text-ink-soft">–</span>}
            {amount != null && <Amount pico={toPico(amount)} atLeast={places} signed={signed} />}
            {below?.(row)}
          </>
        );
      };
    },
    ...(total && {
      foot: (rows) => {
        const amounts = amountsOf(rows);
        return <Amount pico={amounts.reduce((sum, pico) => sum + pico, 0n)} atLeast={decimalsNeeded(amounts)} />;
      },
    }),
  };
}

interface AmountProps {
  pico: bigint;
  /**
   * The number of decimals that the column's other amounts need. It aligns the column if no `SharedDecimalPlaces` is
   * around it.
   */
  atLeast?: number;
  signed?: boolean;
}

function Amount({ pico, atLeast = 0, signed = false }: AmountProps) {
  const places = useSharedDecimalPlaces(Math.max(atLeast, decimalsNeeded([pico])));
  const gain = signed && pico >= 0n;
  return (
    <data
      value={formatExactDollars(pico)}
      title={formatExactDollars(pico)}
      data-figure=""
      className={gain ? "font-medium whitespace-nowrap text-good" : "whitespace-nowrap"}
    >
      {gain && "+"}
      {formatColumnDollars(pico, places)}
    </data>
  );
}
