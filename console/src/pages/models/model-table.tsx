/** The table on the Models page: each model with its context, prices, speed and online nodes. */
import { Link } from "@tanstack/react-router";
import type { LiveModel } from "../../api/answer-types.ts";
import { findChosenAccount } from "../../api/chosen-account.ts";
import { useMe } from "../../data/signed-in-session.ts";
import { Badge } from "../../ui/badge.tsx";
import { buttonClasses } from "../../ui/button.tsx";
import { Brain } from "../../ui/icons.tsx";
import { Meter } from "../../ui/meter.tsx";
import { moneyColumn } from "../../ui/money-text.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { CountText, DurationText } from "../../ui/time-text.tsx";

export function ModelTable({ models }: { models: LiveModel[] }) {
  const { accounts } = useMe();
  const builds = findChosenAccount("builder", accounts) !== undefined;
  return (
    <Table
      label="Models"
      columns={builds ? [...COLUMNS, TRY] : COLUMNS}
      rows={models}
      keyOf={({ id }) => id}
      faded={({ status }) => status === "coming"}
    />
  );
}

const COLUMNS: Column<LiveModel>[] = [
  {
    title: "Model",
    cell: (model) => (
      <>
        <Link
          to="/models/$id"
          params={{ id: model.id }}
          className="rounded-sm text-accent underline-offset-2 hover:underline"
        >
          <code className="font-mono font-medium">{model.id}</code>
        </Link>
        <span className="mt-0.5 flex flex-wrap items-center gap-x-2 text-xs text-ink-soft">
          <span>{model.class}</span>
          <span>{model.quant_label}</span>
          {model.reasoning && (
            <span
              className="inline-flex items-center gap-1"
              title="Reasoning is returned separately from the answer and billed as output."
            >
              <Brain aria-hidden className="size-3.5" />
              reasoning output
            </span>
          )}
        </span>
        <span className="mt-1 block @2xl:hidden">
          <ModelAvailability model={model} />
        </span>
      </>
    ),
  },
  {
    title: "Context",
    from: "sm",
    align: "right",
    cell: ({ context_limit }) => (context_limit === null ? <None /> : <CountText of={context_limit} />),
  },
  moneyColumn({ title: "Input", of: ({ price_in_micro_1m }) => priceOf(price_in_micro_1m) }),
  moneyColumn({ title: "Output", of: ({ price_out_micro_1m }) => priceOf(price_out_micro_1m) }),
  {
    title: "First token",
    from: "lg",
    align: "right",
    // Time to first token does not apply to embeddings, which arrive as a whole.
    cell: ({ kind, ttft_p50_ms }) =>
      ttft_p50_ms === null || kind === "embedding" ? <None /> : <DurationText ms={ttft_p50_ms} />,
  },
  {
    title: "Speed",
    from: "lg",
    align: "right",
    cell: ({ tps_p50 }) =>
      tps_p50 === null ? (
        <None />
      ) : (
        <span className="whitespace-nowrap">
          <CountText of={Math.round(tps_p50)} /> <span className="text-ink-soft">tokens/s</span>
        </span>
      ),
  },
  { title: "Available", from: "md", cell: (model) => <ModelAvailability model={model} /> },
];

const TRY: Column<LiveModel> = {
  title: "Try it",
  hideTitle: true,
  align: "right",
  from: "sm",
  // The playground link is omitted for models without connected nodes, because requests would fail.
  cell: ({ id, nodes, kind }) =>
    nodes > 0 && kind === "generation" ? (
      <Link
        to="/playground"
        search={{ model: id }}
        aria-label={`Try ${id}`}
        className={buttonClasses("plain", "small")}
      >
        Try
      </Link>
    ) : null,
};

export function ModelAvailability({ model: { id, status, nodes, slots, busy } }: { model: LiveModel }) {
  if (status === "coming") return <Badge>coming soon</Badge>;
  if (nodes === 0) return <Badge tone="warn">no nodes online</Badge>;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="@5xl:min-w-17">
        <Badge tone="good">
          {nodes} {nodes === 1 ? "node" : "nodes"}
        </Badge>
      </span>
      <span className="hidden @5xl:inline-flex">
        <Meter label={`Slots for ${id}`} value={busy} max={slots} word="busy" />
      </span>
    </span>
  );
}

const priceOf = (micro: number | null): string | null => (micro === null ? null : String(micro));
const None = () => <span className="text-ink-soft">–</span>;
