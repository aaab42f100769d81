/** Requests by model with their outcomes, busiest model first. */

import type { PlatformModel, PlatformPerformance } from "../../../api/answer-types.ts";
import { decimalText, formatAlignedPercent } from "../../../locale.ts";
import { RANGE_TEXTS } from "../../../time-range.ts";
import { Card } from "../../../ui/card.tsx";
import { ChartColumn } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { CountText, DurationText } from "../../../ui/time-text.tsx";

export function ModelTraffic({ performance: { models, range } }: { performance: PlatformPerformance }) {
  return (
    <Card title="Traffic by model" flush>
      {models.length === 0 ? (
        <EmptyState icon={<ChartColumn aria-hidden />} title="No requests">
          None in {RANGE_TEXTS[range]}.
        </EmptyState>
      ) : (
        <Table
          label="Traffic by model"
          columns={COLUMNS}
          rows={models.toSorted((a, b) => b.requests - a.requests)}
          keyOf={({ model }) => model}
        />
      )}
    </Card>
  );
}

const COLUMNS: Column<PlatformModel>[] = [
  { title: "Model", cell: ({ model }) => <code className="font-mono font-medium wrap-anywhere">{model}</code> },
  {
    title: "Requests",
    align: "right",
    cell: ({ requests }) => <CountText of={requests} />,
    foot: (rows) => <CountText of={rows.reduce((sum, { requests }) => sum + requests, 0)} />,
  },
  { title: "Errors", align: "right", cell: (row) => <Errors of={row} /> },
  { title: "First token p50", align: "right", from: "xl", cell: ({ ttft_ms }) => <DurationText ms={ttft_ms.p50} /> },
  { title: "First token p95", align: "right", from: "md", cell: ({ ttft_ms }) => <DurationText ms={ttft_ms.p95} /> },
  {
    title: "Duration p50",
    align: "right",
    from: "xl",
    cell: ({ duration_ms }) => <DurationText ms={duration_ms.p50} />,
  },
  {
    title: "Duration p95",
    align: "right",
    from: "lg",
    cell: ({ duration_ms }) => <DurationText ms={duration_ms.p95} />,
  },
  {
    title: "Tokens/s",
    align: "right",
    from: "lg",
    cell: ({ tokens_per_second: speed }) => (speed === null ? "–" : decimalText(speed)),
  },
  moneyColumn({ title: "Charged", from: "sm", of: ({ charge_micro }) => charge_micro, total: true }),
];

function Errors({ of: { failed, error_share } }: { of: Pick<PlatformModel, "failed" | "error_share"> }) {
  if (error_share === null) return "–";
  return (
    <span className={failed === 0 ? "whitespace-nowrap text-ink-soft" : "whitespace-nowrap"}>
      <CountText of={failed} /> ({formatAlignedPercent(error_share)})
    </span>
  );
}
