/**
 * A node's job log: outcomes, tokens, times and earnings. It contains neither prompts and answers nor builders' names.
 */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { Job, JobFilter, NodeDetail } from "../../../api/answer-types.ts";
import { jobsQuery } from "../../../data/host-nodes-and-tokens.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { Card } from "../../../ui/card.tsx";
import { Drawer, DrawerSection, IdLine, Property, PropertyList } from "../../../ui/drawer.tsx";
import { SelectField } from "../../../ui/form-fields.tsx";
import { ListChecks } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { MoneyText, moneyColumn } from "../../../ui/money-text.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { CountText, DurationText, TimeText } from "../../../ui/time-text.tsx";

const OUTCOMES = [
  { value: "", label: "All outcomes" },
  { value: "ok", label: "Completed" },
  { value: "upstream_failed", label: "Node failed" },
  { value: "upstream_stall", label: "Node stalled" },
  { value: "client_closed", label: "Client disconnected" },
  { value: "plane_lost", label: "Connection to node lost" },
];

export function NodeJobs({ node }: { node: NodeDetail }) {
  const filter = useSearch({ from: "/app/host/nodes/$id", select: ({ model, outcome }) => ({ model, outcome }) });
  const navigate = useNavigate({ from: "/host/nodes/$id" });
  const [open, setOpen] = useState<Job>();
  const chosen = {
    ...(filter.model !== undefined && { model: filter.model }),
    ...(filter.outcome !== undefined && { outcome: filter.outcome as JobFilter["outcome"] }),
  };
  const jobs = useInfiniteQuery(jobsQuery(node.id, chosen));
  const set = (name: "model" | "outcome", value: string): void =>
    void navigate({
      search: ({ [name]: _before, ...rest }) => (value === "" ? rest : { ...rest, [name]: value }),
      replace: true,
      resetScroll: false,
    });
  const models = [...new Set([...node.models, ...(filter.model === undefined ? [] : [filter.model])])];
  return (
    <Card
      title="Jobs"
      flush
      aside={
        <div className="flex gap-2 max-sm:w-full">
          <SelectField
            label="Model"
            hideLabel
            className="min-w-0 max-sm:flex-1"
            value={filter.model ?? ""}
            options={[{ value: "", label: "All models" }, ...models.map((value) => ({ value, label: value }))]}
            onChange={({ target }) => set("model", target.value)}
          />
          <SelectField
            label="Outcome"
            hideLabel
            className="min-w-0 max-sm:flex-1"
            value={filter.outcome ?? ""}
            options={OUTCOMES}
            onChange={({ target }) => set("outcome", target.value)}
          />
        </div>
      }
    >
      <PagedTable
        query={jobs}
        label="Jobs"
        columns={COLUMNS}
        keyOf={({ request_id }) => request_id}
        onOpen={setOpen}
        isOpen={({ request_id }) => request_id === open?.request_id}
        empty={
          <EmptyState icon={<ListChecks aria-hidden />} title="No jobs">
            {Object.keys(chosen).length === 0
              ? "Requests that this node works on appear here."
              : "No jobs match these filters."}
          </EmptyState>
        }
      />
      <Drawer open={open !== undefined} onClose={() => setOpen(undefined)} title="Job">
        {open !== undefined && <Details job={open} />}
      </Drawer>
    </Card>
  );
}

const TONES: Record<NonNullable<Job["by"]>, Tone> = {
  engine: "bad",
  quiet: "bad",
  client: "neutral",
  platform: "warn",
};

const Outcome = ({ of: { outcome, by } }: { of: Job }) => (
  <Badge tone={by === null ? "good" : TONES[by]}>{outcome}</Badge>
);

const COLUMNS: Column<Job>[] = [
  {
    title: "Finished",
    cell: (job) => (
      <>
        <span className="font-medium whitespace-nowrap">
          <TimeText at={job.finished_at} />
        </span>
        <span className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-ink-soft @lg:hidden">
          {job.model}
          <Outcome of={job} />
        </span>
      </>
    ),
  },
  { title: "Model", from: "sm", cell: ({ model }) => model ?? <span className="text-ink-soft">–</span> },
  { title: "Outcome", from: "sm", cell: (job) => <Outcome of={job} /> },
  {
    title: "Tokens",
    from: "md",
    align: "right",
    cell: (job) => (
      <span className="whitespace-nowrap">
        <CountText of={job.prompt_tokens} /> <span className="text-ink-soft">in</span>{" "}
        <CountText of={job.completion_tokens} /> <span className="text-ink-soft">out</span>
      </span>
    ),
  },
  { title: "First token", from: "lg", align: "right", cell: ({ ttft_ms }) => <DurationText ms={ttft_ms} /> },
  { title: "Duration", from: "md", align: "right", cell: ({ duration_ms }) => <DurationText ms={duration_ms} /> },
  moneyColumn({ title: "Earned", of: ({ earned_micro }) => earned_micro }),
];

function Details({ job }: { job: Job }) {
  return (
    <div className="flex flex-col gap-7">
      <div>
        <IdLine id={job.request_id} of="request" />
        <p className="mt-2 flex flex-wrap items-center gap-2">
          <Outcome of={job} />
          <span className="text-ink-soft">{job.says}</span>
        </p>
      </div>
      <DrawerSection title="Times">
        <PropertyList>
          <Property name="Created">
            <TimeText at={job.created_at} as="full" />
          </Property>
          <Property name="Finished">
            <TimeText at={job.finished_at} as="full" />
          </Property>
          <Property name="Queued">
            <DurationText ms={job.queue_ms} />
          </Property>
          <Property name="First token">
            <DurationText ms={job.ttft_ms} />
          </Property>
          <Property name="Duration">
            <DurationText ms={job.duration_ms} />
          </Property>
          <Property name="Speed">{job.tps === null ? "–" : `${job.tps} tokens/s`}</Property>
        </PropertyList>
      </DrawerSection>
      <DrawerSection title="Work">
        <PropertyList>
          <Property name="Model">{job.model ?? "–"}</Property>
          <Property name="Tokens in">
            <CountText of={job.prompt_tokens} />
          </Property>
          <Property name="Tokens out">
            <CountText of={job.completion_tokens} />
          </Property>
          <Property name="Earned">
            <MoneyText of={job.earned_micro} exact />
            {job.own && <span className="text-ink-soft"> from your own request</span>}
          </Property>
        </PropertyList>
      </DrawerSection>
      <p className="text-xs text-ink-soft">
        Prompts and answers are never stored, and hosts cannot see who sent a request.
      </p>
    </div>
  );
}
