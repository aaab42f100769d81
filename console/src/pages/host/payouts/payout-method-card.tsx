/** The host's payout method: shown with masked numbers, and replaced or removed. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { payoutMethodQuery, useRemovePayoutMethod } from "../../../data/host-payouts.ts";
import { usePermissions } from "../../../data/signed-in-session.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Card } from "../../../ui/card.tsx";
import { ConfirmDialog } from "../../../ui/dialog.tsx";
import { Property, PropertyList } from "../../../ui/drawer.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { toast } from "../../../ui/toast.tsx";
import { PayoutMethodDialog } from "./payout-method-dialog.tsx";
import { PAYOUT_METHOD_TEXTS } from "./payout-method-texts.ts";

export function PayoutMethodCard() {
  const found = useQuery(payoutMethodQuery);
  const may = usePermissions("host");
  const remove = useRemovePayoutMethod();
  const [open, setOpen] = useState<"set" | "remove">();
  const close = (): void => setOpen(undefined);
  return (
    <Card
      title="Payout method"
      aside={found.data !== undefined && found.data.method === null && <Badge tone="warn">not set</Badge>}
    >
      <LoadedQuery query={found}>
        {({ method }) => (
          <>
            {method === null ? (
              <p className="text-ink-soft">
                No payout method is set, so the operators cannot pay you. Enter a bank account or a PayPal account.
              </p>
            ) : (
              <PropertyList>
                <Property name="Sent to">{method.label}</Property>
                <Property name="Kind">{PAYOUT_METHOD_TEXTS[method.kind].label}</Property>
                <Property name="Name on the account">{method.holder}</Property>
                <Property name="Changed">
                  <TimeText at={method.changed_at} as="full" />
                  {method.changed_by !== null && ` by ${method.changed_by}`}
                </Property>
              </PropertyList>
            )}
            {may("pay") && (
              <div className="mt-4 flex flex-wrap gap-2">
                <Button onClick={() => setOpen("set")}>
                  {method === null ? "Enter payout method" : "Change payout method"}
                </Button>
                {method !== null && (
                  <Button look="quiet" onClick={() => setOpen("remove")}>
                    Remove
                  </Button>
                )}
              </div>
            )}
          </>
        )}
      </LoadedQuery>
      {open === "set" && <PayoutMethodDialog onClose={close} />}
      <ConfirmDialog
        open={open === "remove"}
        onClose={close}
        title="Remove the payout method?"
        action="Remove"
        onConfirm={() =>
          remove.mutate(undefined, {
            onSuccess: () => {
              close();
              toast("Payout method removed");
            },
          })
        }
        busy={remove.isPending}
        error={remove.error}
      >
        <p>You cannot be paid until you enter another payout method. You keep your earnings.</p>
      </ConfirmDialog>
    </Card>
  );
}
