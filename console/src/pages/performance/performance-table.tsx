/** Performance figures by model or by key. A click on a row filters the page by it. */
import { useQuery } from "@tanstack/react-query";
import type { Performance, PerformanceRow } from "../../api/answer-types.ts";
import { keysQuery } from "../../data/keys.ts";
import { findKeyName } from "../../keys/key-names.ts";
import { formatAlignedPercent } from "../../locale.ts";
import { formatMilliseconds, formatSpeed } from "../../performance/performance-figures.tsx";
import { Card } from "../../ui/card.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { CountText } from "../../ui/time-text.tsx";

const BY: { value: Performance["by"]; label: string }[] = [
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
];

interface Props {
  answer: Performance;
  onBy: (by: Performance["by"]) => void;
  onOpen: (row: { model?: string; key?: string }) => void;
}

export function PerformanceTable({ answer: { by, data }, onBy, onOpen }: Props) {
  const { data: keys } = useQuery(keysQuery);
  const nameOf = ({ model, key = "" }: PerformanceRow): string => model ?? findKeyName(keys?.data, key);
  return (
    <Card
      title={by === "model" ? "Models" : "Keys"}
      flush
      aside={<SegmentedChoice label="Group by" value={by} options={BY} onChange={onBy} />}
    >
      <Table
        label={`Performance by ${by}`}
        columns={[
          {
            title: by === "model" ? "Model" : "Key",
            className: "wrap-anywhere",
            cell: (row) => (
              <>
                <span className="font-medium">{nameOf(row)}</span>
                <span className="mt-0.5 block text-xs text-ink-soft @2xl:hidden">
                  p95: first token {formatMilliseconds(row.ttft_ms.p95)}, total{" "}
                  {formatMilliseconds(row.duration_ms.p95)}
                </span>
              </>
            ),
          },
          ...FIGURES,
        ]}
        rows={data.toSorted((a, b) => b.requests - a.requests)}
        keyOf={({ model, key }) => model ?? key ?? ""}
        onOpen={({ model, key }) =>
          onOpen({ ...(model !== undefined && { model }), ...(key !== undefined && { key }) })
        }
      />
    </Card>
  );
}

const figure = (
  title: string,
  text: (row: PerformanceRow) => string,
  from?: NonNullable<Column<PerformanceRow>["from"]>,
): Column<PerformanceRow> => ({
  title,
  align: "right",
  ...(from !== undefined && { from }),
  cell: (row) => <span className="whitespace-nowrap">{text(row)}</span>,
});

const FIGURES: Column<PerformanceRow>[] = [
  { title: "Requests", align: "right", cell: ({ requests }) => <CountText of={requests} /> },
  figure("Errors", ({ error_share: share }) => (share === null ? "–" : formatAlignedPercent(share))),
  figure("TTFT p50", ({ ttft_ms }) => formatMilliseconds(ttft_ms.p50), "lg"),
  figure("TTFT p95", ({ ttft_ms }) => formatMilliseconds(ttft_ms.p95), "md"),
  figure("TTFT p99", ({ ttft_ms }) => formatMilliseconds(ttft_ms.p99), "xl"),
  figure("Duration p50", ({ duration_ms }) => formatMilliseconds(duration_ms.p50), "lg"),
  figure("Duration p95", ({ duration_ms }) => formatMilliseconds(duration_ms.p95), "md"),
  figure("Duration p99", ({ duration_ms }) => formatMilliseconds(duration_ms.p99), "xl"),
  figure("Tokens/s", formatSpeed, "sm"),
];
