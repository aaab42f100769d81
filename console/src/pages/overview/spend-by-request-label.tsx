/** Spending by request label. Hidden if no request has a label. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { usageQuery } from "../../data/balance-and-usage.ts";
import { parseMicro, toChartDollars } from "../../dollar-amounts.ts";
import { formatCategoricalTerm } from "../../requests/filter-text.ts";
import { type BucketedRange, computeBucketedSpan, RANGE_TEXTS } from "../../time-range.ts";
import { Card } from "../../ui/card.tsx";
import { type BarItem, BarList } from "../../ui/chart/bar-list.tsx";
import { DataAge } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { FirstLoadPlaceholder } from "../../ui/page-sections.tsx";
import { useHourStart } from "../../ui/time-text.tsx";

const SHOWN = 8;

export function SpendByRequestLabel({ range }: { range: BucketedRange }) {
  const hour = useHourStart();
  const from = useMemo(() => computeBucketedSpan(range, hour.getTime()).from.toISOString(), [range, hour]);
  const usage = useQuery(usageQuery({ by: "label", from }));
  const rows = (usage.data?.data ?? []).map(({ label = null, charge_micro }) => ({
    label,
    pico: parseMicro(charge_micro),
  }));
  const named = rows.flatMap(({ label, pico }) => (label === null ? [] : [{ label, pico }]));
  if (named.length === 0) return <FirstLoadPlaceholder query={usage} />;
  const shown = named.slice(0, SHOWN);
  const rest = sum(rows) - sum(shown);
  const item = (key: string, pico: bigint, name: BarItem["name"]): BarItem => ({
    key,
    name,
    value: toChartDollars(pico),
    text: <MoneyText of={pico} exact />,
  });
  const others = named.length > SHOWN ? "Other labels and no label" : "No label";
  return (
    <Card
      title="Spend by label"
      aside={
        <span className="flex gap-3 text-xs text-ink-soft">
          <DataAge query={usage} /> whole days, UTC
        </span>
      }
    >
      <BarList
        label={`Spend by label in ${RANGE_TEXTS[range]}`}
        colour={4}
        items={[
          ...shown.map(({ label, pico }) =>
            item(
              label,
              pico,
              <Link
                to="/requests"
                search={{ q: formatCategoricalTerm("label", label) }}
                className="underline-offset-2 hover:underline"
              >
                {label}
              </Link>,
            ),
          ),
          ...(rest > 0n ? [item("", rest, <span className="text-ink-soft">{others}</span>)] : []),
        ]}
      />
    </Card>
  );
}

const sum = (rows: { pico: bigint }[]): bigint => rows.reduce((total, { pico }) => total + pico, 0n);
