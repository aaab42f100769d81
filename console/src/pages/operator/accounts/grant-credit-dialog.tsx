/** A dialog that grants credit. The reason appears on the builder's statement. */
import { useState } from "react";
import type { PlatformAccount } from "../../../api/answer-types.ts";
import { useGrantCredit } from "../../../data/platform-accounts.ts";
import { formatDollarsForInput, formatExactDollars, parseMicro, toWholeMicro } from "../../../dollar-amounts.ts";
import { parseDollars } from "../../../parse-dollars.ts";
import { AmountField } from "../../../ui/amount-field.tsx";
import { Dialog, FormActions } from "../../../ui/dialog.tsx";
import { Form, readTextField } from "../../../ui/form.tsx";
import { findFieldError, TextField } from "../../../ui/form-fields.tsx";
import { toast } from "../../../ui/toast.tsx";

export function GrantCreditDialog({
  account: { id, name },
  onClose,
}: {
  account: PlatformAccount;
  onClose: () => void;
}) {
  const grant = useGrantCredit(id);
  const [problem, setProblem] = useState<string>();
  const submit = (fields: FormData): void => {
    const read = parseDollars(readTextField(fields, "amount"));
    const pico = "pico" in read ? read.pico : 0n;
    setProblem("wrong" in read ? read.wrong : pico === 0n ? "Enter an amount above zero." : undefined);
    if (pico === 0n) return;
    grant.mutate(
      { amount_micro: toWholeMicro(pico), reason: readTextField(fields, "reason").trim() },
      {
        onSuccess: () => {
          onClose();
          toast(`Granted ${formatExactDollars(pico)} to ${name}`);
        },
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Grant credit to ${name}`}
      about="The credit is available immediately. You cannot undo a grant in the console."
    >
      <Form onSubmit={submit} error={grant.error} fields={["amount_micro", "reason"]}>
        <AmountField
          label="Amount ($)"
          name="amount"
          required
          placeholder={formatDollarsForInput(parseMicro("25000000"))}
          error={problem ?? findFieldError(grant.error, "amount_micro")}
        />
        <TextField
          label="Reason"
          name="reason"
          required
          maxLength={200}
          autoComplete="off"
          hint="Shown to the account's owners on their statement."
          error={findFieldError(grant.error, "reason")}
        />
        <FormActions onCancel={onClose} busy={grant.isPending}>
          Grant
        </FormActions>
      </Form>
    </Dialog>
  );
}
