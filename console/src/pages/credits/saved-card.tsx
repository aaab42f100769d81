/**
 * The payment card for automatic purchases. It was saved on the payment provider's page, and only its last digits are
 * shown.
 */

import { useState } from "react";
import type { Credits } from "../../api/answer-types.ts";
import { useRemoveCard, useSaveCard } from "../../data/credits.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { CreditCard } from "../../ui/icons.tsx";
import { toast, toastError } from "../../ui/toast.tsx";

type Method = NonNullable<Credits["method"]>;

/** For example "Visa ending in 4242". */
export function formatCard({ brand, last4 }: Method): string {
  const name = `${brand.charAt(0).toUpperCase()}${brand.slice(1)}`.replaceAll("_", " ");
  return last4 === null ? name : `${name} ending in ${last4}`;
}

export function SavedCard({ method }: { method: Method | null }) {
  const save = useSaveCard();
  const remove = useRemoveCard();
  const [asking, setAsking] = useState(false);
  const open = (): void =>
    save.mutate(undefined, { onSuccess: ({ url }) => location.assign(url), onError: toastError });
  const confirmed = (): void =>
    remove.mutate(undefined, {
      onSuccess: () => {
        setAsking(false);
        toast("Card removed");
      },
    });
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-md border border-line px-3 py-2.5">
      <CreditCard aria-hidden className="size-5 text-ink-soft" />
      <span className="min-w-0 flex-1 basis-40">{method === null ? "No saved card" : formatCard(method)}</span>
      <span className="flex flex-wrap gap-2">
        <Button size="small" busy={save.isPending || save.isSuccess} onClick={open}>
          {method === null ? "Save a card" : "Replace"}
        </Button>
        {method !== null && (
          <Button size="small" look="danger" onClick={() => setAsking(true)}>
            Remove
          </Button>
        )}
      </span>
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title="Remove the saved card?"
        action="Remove card"
        onConfirm={confirmed}
        busy={remove.isPending}
        error={remove.error}
      >
        The card is deleted here and at the payment provider, and automatic top-up is turned off.
      </ConfirmDialog>
    </div>
  );
}
