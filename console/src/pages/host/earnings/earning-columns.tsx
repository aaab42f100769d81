/** The columns of the earnings list. The last column downloads the request's signed receipt. */

import { useState } from "react";
import type { Earning } from "../../../api/answer-types.ts";
import { saveFile } from "../../../api/api-client.ts";
import { OutcomeBadge } from "../../../requests/outcome-badge.tsx";
import { IconButton } from "../../../ui/button.tsx";
import { FileCheck } from "../../../ui/icons.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import type { Column } from "../../../ui/table.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";
import { toastError } from "../../../ui/toast.tsx";

export const makeEarningColumns = (nameOf: (node: string) => string): Column<Earning>[] => [
  {
    title: "Completed",
    cell: ({ finished_at, model }) => (
      <>
        <span className="font-medium whitespace-nowrap">
          <TimeText at={finished_at} />
        </span>
        <span className="block text-xs text-ink-soft @lg:hidden">{model ?? "–"}</span>
      </>
    ),
  },
  { title: "Model", from: "sm", cell: ({ model }) => model ?? <span className="text-ink-soft">–</span> },
  {
    title: "Node",
    from: "md",
    className: "max-w-40",
    cell: ({ node }) => <span className="block truncate">{node === null ? "–" : nameOf(node)}</span>,
  },
  { title: "Outcome", from: "md", cell: ({ outcome }) => <OutcomeBadge of={outcome} /> },
  {
    title: "Tokens",
    from: "lg",
    align: "right",
    cell: ({ prompt_tokens, completion_tokens }) => (
      <span className="whitespace-nowrap">
        <CountText of={prompt_tokens} /> <span className="text-ink-soft">in</span> <CountText of={completion_tokens} />{" "}
        <span className="text-ink-soft">out</span>
      </span>
    ),
  },
  moneyColumn({
    title: "Earned",
    of: ({ earned_micro }) => earned_micro,
    below: ({ own }) => own && <span className="block text-xs text-ink-soft">your own request</span>,
  }),
  {
    title: "Receipt",
    hideTitle: true,
    align: "right",
    cell: ({ request_id }) => <ReceiptButton requestId={request_id} />,
  },
];

export function ReceiptButton({ requestId }: { requestId: string }) {
  const [busy, setBusy] = useState(false);
  const save = (): void => {
    setBusy(true);
    saveFile(`${requestId}.receipt.json`, "GET /console/api/earnings/{id}/receipt", { path: { id: requestId } })
      .catch(toastError)
      .finally(() => setBusy(false));
  };
  return (
    <IconButton label={`Download receipt for ${requestId}`} disabled={busy} onClick={save}>
      <FileCheck aria-hidden className="size-4" />
    </IconButton>
  );
}
