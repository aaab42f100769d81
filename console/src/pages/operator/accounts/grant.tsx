/** Granting credit, with a reason that the builder reads on the statement. */
import { useState } from "react";
import type { PlatformAccount } from "../../../api/operator-types.ts";
import { useGrant } from "../../../data/platform-accounts.ts";
import { exactDollars, parseDollars } from "../../../money.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog, DialogActions } from "../../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../../ui/field.tsx";
import { Form, textOf } from "../../../ui/form.tsx";
import { toast } from "../../../ui/toast.tsx";

const PICO_PER_MICRO = 1_000_000n;

export function GrantDialog({ account: { id, name }, onClose }: { account: PlatformAccount; onClose: () => void }) {
  const grant = useGrant(id);
  const [problem, setProblem] = useState<string>();
  const submit = (fields: FormData): void => {
    const pico = parseDollars(textOf(fields, "amount"));
    const isAmount = pico !== undefined && pico > 0n;
    setProblem(isAmount ? undefined : "An amount in dollars, such as 25 or 12.50.");
    if (!isAmount) return;
    grant.mutate(
      { amount_micro: String(pico / PICO_PER_MICRO), reason: textOf(fields, "reason").trim() },
      {
        onSuccess: () => {
          onClose();
          toast(`Granted ${exactDollars(pico)} to ${name}`);
        },
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Grant credit to ${name}`}
      about="It can be spent at once, and cannot be taken back here."
    >
      <Form onSubmit={submit} error={grant.error} fields={["amount_micro", "reason"]}>
        <TextField
          label="Amount in dollars"
          name="amount"
          inputMode="decimal"
          required
          autoComplete="off"
          placeholder="25.00"
          error={problem ?? errorOfField(grant.error, "amount_micro")}
        />
        <TextField
          label="Reason"
          name="reason"
          required
          maxLength={200}
          autoComplete="off"
          hint="The account's owners read it on their statement."
          error={errorOfField(grant.error, "reason")}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={grant.isPending}>
            Grant
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
