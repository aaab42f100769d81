/** Spend over time, stacked by model or key. */
import { useQuery } from "@tanstack/react-query";
import { ChartColumn } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { keysQuery } from "../../data/keys.ts";
import { usageQuery } from "../../data/money.ts";
import { sumMicro } from "../../money.ts";
import { Card } from "../../ui/card.tsx";
import { Chart } from "../../ui/chart/chart.tsx";
import { bucketTick, moneyTick } from "../../ui/chart/labels.ts";
import { Money } from "../../ui/money.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { useThisHour } from "../../ui/time.tsx";
import { RANGE_WORDS } from "./range-choice.tsx";
import { type Range, type Split, spendQuery, stackSpend } from "./spend.ts";

const SPLITS: { value: Split; label: string }[] = [
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
];

export function SpendCard({ range, choice }: { range: Range; choice: ReactNode }) {
  const [split, setSplit] = useState<Split>("model");
  const hour = useThisHour();
  const query = useMemo(() => spendQuery(range, hour.getTime()), [range, hour]);
  const usage = useQuery(usageQuery({ by: query.by, split, from: query.from.toISOString() }));
  const { data: keys } = useQuery(keysQuery);
  const nameOf = (part: string): string =>
    split === "model" ? part || "no model" : (keys?.data.find(({ id }) => id === part)?.name ?? part);
  return (
    <Card
      title="Spend"
      aside={
        <div className="flex flex-wrap gap-2">
          <Segmented label="Stacked by" value={split} options={SPLITS} onChange={setSplit} />
          {choice}
        </div>
      }
    >
      <Loaded query={usage} loading={<Skeleton className="h-72 w-full" />}>
        {({ data }) =>
          sumMicro(data.map(({ charge_micro }) => charge_micro)) === 0n ? (
            <Empty icon={<ChartColumn aria-hidden />} title="Nothing spent">
              No request was charged in {RANGE_WORDS[range]}.
            </Empty>
          ) : (
            <>
              <p className="mb-3 text-ink-soft">
                <span className="text-lg font-semibold text-ink">
                  <Money of={sumMicro(data.map(({ charge_micro }) => charge_micro))} />
                </span>{" "}
                in {RANGE_WORDS[range]}
              </p>
              <Chart
                title={`Spend in ${RANGE_WORDS[range]} by ${split}`}
                format={moneyTick}
                {...stackSpend({ rows: data, query, split, nameOf, labelOf: (bucket) => bucketTick(query.by, bucket) })}
              />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

/** Hours are shown in local time; days are the platform's own, in UTC. */
