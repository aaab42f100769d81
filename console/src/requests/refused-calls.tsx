/**
 * A notice about refused calls: number, reasons and latest time of each reason. Refused calls are not in the request
 * list.
 */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { RefusedCallCounts } from "../api/answer-types.ts";
import { refusedCallsQuery } from "../data/requests.ts";
import { formatWholeNumber } from "../locale.ts";
import { Button } from "../ui/button.tsx";
import { Card } from "../ui/card.tsx";
import { DataAge } from "../ui/loading-states.tsx";
import { Notice } from "../ui/notice.tsx";
import { FirstLoadPlaceholder } from "../ui/page-sections.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { CountText, TimeText } from "../ui/time-text.tsx";
import { describeRefusedCode, isRefusalWarningExpired } from "./refused-codes.ts";

const NAMED_MAX = 3;

/** `from`: the start of the range. `words`: the range in words. Hidden if no call was refused. */
export function RefusedCalls({ from, words }: { from: string; words: string }) {
  const refusals = useQuery(refusedCallsQuery(from));
  const { data, dataUpdatedAt } = refusals;
  const [open, setOpen] = useState(false);
  const codes = data?.data ?? [];
  if (codes.length === 0) return <FirstLoadPlaceholder query={refusals} />;
  const over = isRefusalWarningExpired(codes, dataUpdatedAt);
  const total = codes.reduce((sum, { requests }) => sum + requests, 0);
  return (
    <div className="flex flex-col gap-3">
      <Notice
        tone={over ? "neutral" : "warn"}
        title={`${formatWholeNumber(total)} ${total === 1 ? "call was" : "calls were"} refused in ${words}`}
        action={
          <Button aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide refused calls" : "Show refused calls"}
          </Button>
        }
      >
        <DataAge query={refusals} />
        <ul className="flex flex-col gap-1">
          {codes.slice(0, NAMED_MAX).map((one) => (
            <li key={one.code}>
              {formatWholeNumber(one.requests)}: {describeRefusedCode(one).says} ({one.status}).{" "}
              {describeRefusedCode(one).advice}
            </li>
          ))}
          {over && <li className="text-ink-soft">No call was refused in the last hour.</li>}
          {codes.length > NAMED_MAX && (
            <li>
              And {codes.length - NAMED_MAX} more error {codes.length - NAMED_MAX === 1 ? "code" : "codes"}.
            </li>
          )}
        </ul>
      </Notice>
      {open && <ByCode codes={codes} />}
    </div>
  );
}

function ByCode({ codes }: { codes: RefusedCallCounts[] }) {
  const [shown, setShown] = useState(codes[0]?.code);
  return (
    <Card title="Refused calls" flush>
      <Table
        label="Refused calls"
        columns={COLUMNS}
        rows={codes}
        keyOf={({ code }) => code}
        onOpen={({ code }) => setShown(code === shown ? undefined : code)}
        isOpen={({ code }) => code === shown}
        below={(one) => (one.code === shown ? <Examples of={one} /> : undefined)}
      />
      <p className="border-t border-line px-4 py-3 text-xs text-ink-soft sm:px-5">
        Refused calls cost nothing and are kept for 7 days. Prompts are never stored.
      </p>
    </Card>
  );
}

const COLUMNS: Column<RefusedCallCounts>[] = [
  {
    title: "Reason",
    cell: (one) => (
      <>
        <span className="block font-medium">{describeRefusedCode(one).says}</span>
        <code className="font-mono text-xs break-all text-ink-soft">
          {one.status} {one.code}
        </code>
      </>
    ),
  },
  {
    title: "Keys",
    from: "md",
    className: "max-w-64 truncate",
    cell: ({ keys }) => keys.map(({ name }) => name).join(", "),
  },
  {
    title: "Last",
    from: "sm",
    className: "whitespace-nowrap",
    cell: ({ last_at }) => <TimeText at={last_at} as="ago" />,
  },
  { title: "Calls", align: "right", cell: ({ requests }) => <CountText of={requests} /> },
];

function Examples({ of: { examples, code } }: { of: RefusedCallCounts }) {
  return (
    <ul aria-label={`Latest calls refused with ${code}`} className="flex flex-col bg-sunken/40 text-xs">
      {examples.map(({ at, key, model, message }, place) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: calls of one second are alike
          key={`${at} ${place}`}
          className="grid gap-x-4 gap-y-1 border-t border-line px-4 py-2.5 first:border-t-0 sm:grid-cols-[8rem_10rem_minmax(0,1fr)] sm:px-5"
        >
          <span className="whitespace-nowrap text-ink-soft">
            <TimeText at={at} />
          </span>
          <span className="min-w-0 truncate" title={key.name}>
            {key.name}
            {model !== null && <span className="text-ink-soft"> · {model}</span>}
          </span>
          <span className="min-w-0 wrap-anywhere">{message}</span>
        </li>
      ))}
    </ul>
  );
}
