/** The low-credit alert: a threshold, and an email to the account's owners each time the balance falls below it. */
import { useState } from "react";
import type { Credits } from "../../api/answer-types.ts";
import { useSetCreditAlert } from "../../data/credits.ts";
import { AmountField } from "../../ui/amount-field.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError } from "../../ui/form-fields.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { formatAmountForInput, parseAmount, THRESHOLD_BOUNDS } from "./parse-amount.ts";

export function LowCreditAlertCard({ credits: { alert, can_mail } }: { credits: Credits }) {
  const set = useSetCreditAlert();
  const [wrong, setWrong] = useState<string>();
  const { mark_micro: mark, is_below } = alert;
  const submit = (fields: FormData): void => {
    const read = parseAmount(readTextField(fields, "mark"), THRESHOLD_BOUNDS);
    setWrong("wrong" in read ? read.wrong : undefined);
    if ("micro" in read) set.mutate(read.micro, { onSuccess: () => toast("Low-credit alert saved") });
  };
  const turnOff = (): void =>
    set.mutate(null, { onSuccess: () => toast("Low-credit alert turned off"), onError: toastError });
  return (
    <Card title="Low-credit alert" aside={<Standing mark={mark} isBelow={is_below} />}>
      <p className="mb-4 text-ink-soft">
        Owners get one email when the balance drops below this amount. The alert resets when the balance recovers.
        {!can_mail && " This platform does not send email yet. Its operators have to set up email first."}
      </p>
      <Form key={mark} onSubmit={submit} error={set.error} fields={["mark_micro"]}>
        <AmountField
          label="Alert below ($)"
          name="mark"
          required
          placeholder={formatAmountForInput("5000000")}
          defaultValue={mark === null ? "" : formatAmountForInput(mark)}
          error={wrong ?? findFieldError(set.error, "mark_micro")}
        />
        <div className="flex flex-wrap gap-2">
          <Button type="submit" busy={set.isPending}>
            {mark === null ? "Turn on alert" : "Save alert"}
          </Button>
          {mark !== null && (
            <Button look="quiet" disabled={set.isPending} onClick={turnOff}>
              Turn off alert
            </Button>
          )}
        </div>
      </Form>
    </Card>
  );
}

function Standing({ mark, isBelow }: { mark: string | null; isBelow: boolean }) {
  if (mark === null) return <Badge>off</Badge>;
  return isBelow ? <Badge tone="warn">below threshold</Badge> : <Badge tone="good">on</Badge>;
}
