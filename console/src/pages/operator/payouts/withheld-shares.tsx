/**
 * Withheld shares of all hosts, searched by node. Operators release them one by one or by node, with a note for the
 * host.
 */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { PlatformWithheldShare, WithheldReleaseRequest } from "../../../api/answer-types.ts";
import { platformWithheldSharesQuery, useReleaseWithheldShares } from "../../../data/operator-payouts.ts";
import { formatExactDollars, parseMicro } from "../../../dollar-amounts.ts";
import { Button } from "../../../ui/button.tsx";
import { Card } from "../../../ui/card.tsx";
import { HandCoins } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import { SearchField } from "../../../ui/search-field.tsx";
import { SegmentedChoice } from "../../../ui/segmented-choice.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { toast } from "../../../ui/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

type Shown = "open" | "all";
/** The shares that an operator is about to release. */
type Asked = { requests: string[] } | { node: string };

interface Props {
  node: string | undefined;
  onNode: (node: string | undefined) => void;
}

export function WithheldShares({ node, onNode }: Props) {
  const [shown, setShown] = useState<Shown>("open");
  const [text, setText] = useState(node ?? "");
  const [asked, setAsked] = useState<Asked>();
  const shares = useInfiniteQuery(
    platformWithheldSharesQuery({ ...(node !== undefined && { node }), ...(shown === "open" && { open: "true" }) }),
  );
  const hasOpen = shares.data?.pages.some(({ data }) => data.some(({ released_at }) => released_at === null)) ?? false;
  const lookFor = (wanted: string): void => {
    if (wanted === "") onNode(undefined);
    else if (/^node_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(wanted)) onNode(wanted);
  };
  return (
    <Card
      id="withheld"
      title="Withheld shares"
      flush
      aside={
        <div className="flex flex-wrap items-center gap-2">
          <SearchField
            label="Node of the withheld shares"
            placeholder="Node: node_…"
            text={text}
            onText={setText}
            onPause={lookFor}
          />
          <SegmentedChoice label="Withheld shares shown" value={shown} options={SHOWN} onChange={setShown} />
          {node !== undefined && hasOpen && (
            <Button size="small" onClick={() => setAsked({ node })}>
              Release all of this node
            </Button>
          )}
        </div>
      }
    >
      <PagedTable
        query={shares}
        label="Withheld shares"
        columns={columnsFor((share) => setAsked({ requests: [share.request_id] }))}
        keyOf={({ request_id }) => request_id}
        faded={({ released_at }) => released_at !== null}
        empty={
          <EmptyState icon={<HandCoins aria-hidden />} title="No withheld shares">
            Hosts' shares withheld for failed or stalled answers, or for failed spot checks, appear here.
          </EmptyState>
        }
      />
      {asked !== undefined && <Release asked={asked} onClose={() => setAsked(undefined)} />}
    </Card>
  );
}

const SHOWN: { value: Shown; label: string }[] = [
  { value: "open", label: "Withheld" },
  { value: "all", label: "With released" },
];

function Release({ asked, onClose }: { asked: Asked; onClose: () => void }) {
  const release = useReleaseWithheldShares();
  const submit = (note: string): void =>
    release.mutate({ ...asked, note } as WithheldReleaseRequest, {
      onSuccess: ({ shares, amount_micro }) => {
        onClose();
        const sum = formatExactDollars(parseMicro(amount_micro));
        toast(`Released ${shares} ${shares === 1 ? "share" : "shares"}, ${sum}`);
      },
    });
  return (
    <ReasonDialog
      title={"node" in asked ? "Release all withheld shares of this node?" : "Release this share?"}
      about="The host gets the withheld amount from the platform's reserve. You cannot undo this."
      hint="Shown to the host and recorded in the audit log."
      action="Release"
      danger={false}
      onClose={onClose}
      onSubmit={submit}
      busy={release.isPending}
      error={release.error}
    />
  );
}

const columnsFor = (onRelease: (share: PlatformWithheldShare) => void): Column<PlatformWithheldShare>[] => [
  {
    title: "Withheld",
    cell: ({ withheld_at, request_id }) => (
      <>
        <span className="font-medium whitespace-nowrap">
          <TimeText at={withheld_at} />
        </span>
        <code className="block font-mono text-xs break-all text-ink-soft">{request_id}</code>
      </>
    ),
  },
  {
    title: "Node",
    from: "sm",
    className: "max-w-48",
    cell: ({ node, node_name, account_name }) => (
      <>
        <Link
          to="/operator/nodes"
          search={{ node }}
          className="block truncate text-accent underline-offset-2 hover:underline"
        >
          {node_name ?? node}
        </Link>
        <span className="block truncate text-xs text-ink-soft">{account_name}</span>
      </>
    ),
  },
  {
    title: "Reason",
    from: "md",
    cell: ({ explanation, released_at, released_by, note }) => (
      <>
        {explanation}
        {released_at !== null && (
          <span className="block text-xs text-ink-soft">
            Released <TimeText at={released_at} as="day" /> by {released_by}
            {note !== null && `: ${note}`}
          </span>
        )}
      </>
    ),
  },
  moneyColumn({ title: "Share", of: ({ amount_micro }) => amount_micro }),
  {
    title: "Release",
    hideTitle: true,
    align: "right",
    cell: (share) =>
      share.released_at === null && (
        <Button size="small" aria-label={`Release ${share.request_id}`} onClick={() => onRelease(share)}>
          Release
        </Button>
      ),
  },
];
