/** Estimated earnings by model, and how they are computed, for hosts that choose models to serve. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { MarketModel } from "../../../api/answer-types.ts";
import { marketQuery, nodesQuery } from "../../../data/host-nodes-and-tokens.ts";
import { decimalText } from "../../../locale.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { SelectField } from "../../../ui/form-fields.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { Meter } from "../../../ui/meter.tsx";
import { MoneyText, moneyColumn } from "../../../ui/money-text.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { CountText } from "../../../ui/time-text.tsx";

export function MarketPage() {
  const { node } = useSearch({ from: "/app/host/market" });
  const navigate = useNavigate({ from: "/host/market" });
  const { data: nodes } = useQuery(nodesQuery);
  const market = useQuery(marketQuery(node));
  const choices = (nodes?.data ?? []).filter(({ state }) => state !== "retired");
  return (
    <>
      <PageHeader
        title="Market"
        about="Demand, capacity and estimated earnings for each model."
        actions={
          <SelectField
            label="Node"
            hideLabel
            className="w-48"
            value={node ?? ""}
            options={[{ value: "", label: "Any node" }, ...choices.map(({ id, name }) => ({ value: id, label: name }))]}
            onChange={({ target }) =>
              void navigate({ search: target.value === "" ? {} : { node: target.value }, replace: true })
            }
          />
        }
      />
      <PageSections>
        <Card flush>
          <LoadedQuery query={market}>
            {({ data, slots }) => (
              <Table label="Market" columns={columnsFor(slots)} rows={data} keyOf={({ model }) => model} />
            )}
          </LoadedQuery>
        </Card>
        <LoadedQuery query={market} loading={null}>
          {({ share_percent, slots }) => <How share={share_percent} slots={slots} ofNode={node !== undefined} />}
        </LoadedQuery>
      </PageSections>
    </>
  );
}

const Nothing = () => <span className="text-ink-soft">–</span>;

const columnsFor = (slots: number | null): Column<MarketModel>[] => [
  {
    title: "Model",
    cell: (row) => (
      <>
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <code className="font-mono font-medium">{row.model}</code>
          {row.elected && <Badge tone="accent">chosen</Badge>}
        </span>
        <span className="block text-xs text-ink-soft">
          <Prices of={row} />
        </span>
      </>
    ),
  },
  {
    title: "Demand",
    from: "sm",
    align: "right",
    cell: (row) => (
      <span className="whitespace-nowrap">
        <CountText of={row.tokens_per_hour_24h} /> <span className="text-ink-soft">tokens/h</span>
        <span className="block text-xs text-ink-soft">
          <CountText of={row.tokens_per_hour_7d} /> over 7 days
        </span>
      </span>
    ),
  },
  {
    title: "Slots now",
    from: "md",
    cell: ({ slots: all, busy, waiting }) =>
      all === 0 ? (
        <span className="text-ink-soft">no nodes</span>
      ) : (
        <>
          <Meter label="Slots" value={busy} max={all} word="busy" />
          {waiting > 0 && <span className="block text-xs text-warn">{waiting} waiting</span>}
        </>
      ),
  },
  {
    title: "Speed",
    from: "xl",
    align: "right",
    cell: ({ speed }) =>
      speed === null ? (
        <span className="text-ink-soft">not measured</span>
      ) : (
        <span className="whitespace-nowrap">
          {decimalText(speed.prompt_tokens_per_s)} <span className="text-ink-soft">in</span>{" "}
          {decimalText(speed.completion_tokens_per_s)} <span className="text-ink-soft">out/s</span>
          <span className="block text-xs text-ink-soft">{speed.of === "node" ? "this node" : "all nodes"}</span>
        </span>
      ),
  },
  moneyColumn({ title: "Average per hour", from: "lg", of: ({ mean_hour_micro }) => mean_hour_micro }),
  moneyColumn({
    title: "Estimate per slot-hour",
    of: ({ slot_hour_micro }) => slot_hour_micro,
    ...(slots !== null && {
      below: ({ node_hour_micro }: MarketModel) =>
        node_hour_micro !== null && (
          <span className="block text-xs text-ink-soft">
            <MoneyText of={node_hour_micro} as="balance" /> with {slots} {slots === 1 ? "slot" : "slots"}
          </span>
        ),
    }),
  }),
];

function Prices({ of: { price_in_micro_1m: input, price_out_micro_1m: output } }: { of: MarketModel }) {
  if (input === null) return <Nothing />;
  return (
    <>
      <MoneyText of={String(input)} /> in
      {output !== null && (
        <>
          , <MoneyText of={String(output)} /> out
        </>
      )}
    </>
  );
}

const How = ({ share, slots, ofNode }: { share: number; slots: number | null; ofNode: boolean }) => (
  <Card title="How these figures are calculated">
    <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-[10rem_1fr]">
      <Term name="Prices">What builders pay per million tokens. Hosts get {share} %.</Term>
      <Term name="Demand">
        Input and output tokens per hour of all builders together, averaged over the last 24 hours and 7 days and
        rounded to two digits.
      </Term>
      <Term name="Slots now">
        Slots of connected nodes, and how many are busy. Waiting requests found no free slot.
      </Term>
      <Term name="Speed">
        Tokens per second of one busy slot over the last 7 days.{" "}
        {ofNode
          ? "The speed is measured on this node if it served the model, otherwise on all nodes that served it."
          : "The speed is measured on all nodes that served the model."}
      </Term>
      <Term name="Average per hour">
        Average earnings of a node from this model per connected hour, over the last 24 hours. Shown if at least three
        hosts serve the model, or if you are its only host.
      </Term>
      <Term name="Estimate per slot-hour">
        Speed × price × {share} % for one slot that is never idle
        {ofNode && slots === null && "; the whole node's estimate is shown once it is connected"}. Actual earnings are
        lower: no node is always busy, and slots on one machine slow each other down.
      </Term>
    </dl>
  </Card>
);

const Term = ({ name, children }: { name: string; children: ReactNode }) => (
  <>
    <dt className="font-medium">{name}</dt>
    <dd className="text-ink-soft max-sm:-mt-2.5">{children}</dd>
  </>
);
