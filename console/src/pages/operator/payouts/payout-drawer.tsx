/** The details of one payout batch: its lines, its CSV file, and a button that marks it as paid. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { PayoutDetail, PayoutLine } from "../../../api/answer-types.ts";
import { saveFile } from "../../../api/api-client.ts";
import { payoutQuery, useMarkPaid } from "../../../data/operator-payouts.ts";
import { parseMicro } from "../../../dollar-amounts.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { Drawer, DrawerSection, Property, PropertyList } from "../../../ui/drawer.tsx";
import { LoadMore } from "../../../ui/load-more.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { SaveButton } from "../../../ui/save-button.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { toast } from "../../../ui/toast.tsx";
import { PAYOUT_METHOD_TEXTS } from "../../host/payouts/payout-method-texts.ts";

export function PayoutDrawer({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  const payout = useInfiniteQuery({ ...payoutQuery(id ?? ""), enabled: id !== undefined });
  return (
    <Drawer open={id !== undefined} onClose={onClose} title="Payout">
      <LoadedQuery query={payout}>
        {({ pages }) =>
          pages[0] !== undefined && (
            <>
              <Details payout={pages[0]} lines={pages.flatMap(({ lines }) => lines)} />
              {payout.hasNextPage && <LoadMore query={payout} />}
            </>
          )
        }
      </LoadedQuery>
    </Drawer>
  );
}

/** An amount beside the paid one. Hidden if it is zero. */
function Beside({ amount, what }: { amount: string; what: string }) {
  if (parseMicro(amount) === 0n) return null;
  return (
    <p className="text-xs whitespace-nowrap text-ink-soft">
      <MoneyText of={amount} exact /> {what}
    </p>
  );
}

/** The host's payout method, unmasked, because the operator enters it at the bank. */
function Method({ of }: { of: PayoutLine["method"] }) {
  if (of === null) return <p className="mt-1 text-xs text-warn">no payout method: ask the host to enter one</p>;
  return (
    <p className="mt-1 text-xs break-words">
      {PAYOUT_METHOD_TEXTS[of.kind].label} · {of.holder} · <code className="font-mono">{of.number}</code>
      {of.bank_code !== null && (
        <>
          {" · "}
          <code className="font-mono">{of.bank_code}</code>
        </>
      )}
      <span className="block text-ink-soft">
        changed <TimeText at={of.changed_at} />
      </span>
    </p>
  );
}

function Details({ payout, lines }: { payout: PayoutDetail; lines: PayoutLine[] }) {
  const { id, state, note, total_micro, held_back_micro, set_off_micro, withheld_micro } = payout;
  const { created_at, created_by, paid_at, paid_by } = payout;
  const [asking, setAsking] = useState(false);
  const markPaid = useMarkPaid(id);
  const confirm = (): void =>
    markPaid.mutate(undefined, {
      onSuccess: () => {
        setAsking(false);
        toast("Marked as paid");
      },
    });
  return (
    <div className="flex flex-col gap-6">
      <PropertyList>
        <Property name="State">
          <span role="status">
            <Badge tone={state === "paid" ? "good" : "warn"}>{state}</Badge>
          </span>
        </Property>
        <Property name="Total">
          <MoneyText of={total_micro} exact />
        </Property>
        <Property name="Held back">
          <MoneyText of={held_back_micro} exact />
        </Property>
        <Property name="Set-off">
          <MoneyText of={set_off_micro} exact />
        </Property>
        <Property name="Withheld">
          <MoneyText of={withheld_micro} exact />
        </Property>
        <Property name="Note">{note || "–"}</Property>
        <Property name="Created">
          <TimeText at={created_at} as="full" /> by {created_by}
        </Property>
        {paid_at !== null && (
          <Property name="Paid">
            <TimeText at={paid_at} as="full" /> by {paid_by ?? "–"}
          </Property>
        )}
      </PropertyList>
      <div className="flex flex-wrap gap-2">
        <SaveButton save={() => saveFile(`${id}.csv`, "GET /console/api/operator/payouts/{id}/csv", { path: { id } })}>
          Export CSV
        </SaveButton>
        {state === "open" && (
          <Button look="primary" onClick={() => setAsking(true)}>
            Mark as paid
          </Button>
        )}
      </div>
      <DrawerSection title="Hosts">
        <ul aria-label="Hosts of the payout" className="flex flex-col rounded-md border border-line">
          {lines.map(({ payout: line, name, owners, method, amount_micro, ...beside }) => (
            <li
              key={line}
              className="flex items-baseline justify-between gap-4 border-b border-line px-3 py-2.5 last:border-b-0"
            >
              <div className="min-w-0">
                <p className="truncate font-medium">{name}</p>
                <p className="text-xs break-words text-ink-soft">{owners || "no owner"}</p>
                {parseMicro(amount_micro) > 0n && <Method of={method} />}
              </div>
              <div className="text-right">
                <MoneyText of={amount_micro} exact />
                <Beside amount={beside.held_back_micro} what="held back" />
                <Beside amount={beside.set_off_micro} what="deducted (set-off)" />
                <Beside amount={beside.withheld_micro} what="withheld" />
                <Beside amount={beside.newly_withheld_micro} what="of it new" />
                <Beside amount={beside.own_micro} what="from own requests" />
              </div>
            </li>
          ))}
        </ul>
      </DrawerSection>
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title="Mark this payout as paid?"
        action="Mark as paid"
        onConfirm={confirm}
        busy={markPaid.isPending}
        error={markPaid.error}
      >
        <p>
          <MoneyText of={total_micro} exact /> will be recorded as paid to hosts. Send the money first. You cannot undo
          this.
        </p>
      </ConfirmDialog>
    </div>
  );
}
