/** A dialog that creates a payout batch of all amounts owed to hosts. */
import { useState } from "react";
import { useCreatePayout } from "../../../data/operator-payouts.ts";
import { formatDollarsForInput, parseMicro, toWholeMicro } from "../../../dollar-amounts.ts";
import { parseDollars } from "../../../parse-dollars.ts";
import { AmountField } from "../../../ui/amount-field.tsx";
import { Dialog, FormActions } from "../../../ui/dialog.tsx";
import { Form, readTextField } from "../../../ui/form.tsx";
import { findFieldError, TextField } from "../../../ui/form-fields.tsx";
import { toast } from "../../../ui/toast.tsx";

interface Props {
  onClose: () => void;
  onCreated: (id: string) => void;
}

export function CreatePayoutDialog({ onClose, onCreated }: Props) {
  const create = useCreatePayout();
  const [problem, setProblem] = useState<string>();
  const submit = (fields: FormData): void => {
    const text = readTextField(fields, "minimum").trim();
    const read = text === "" ? { pico: 0n } : parseDollars(text);
    setProblem("wrong" in read ? read.wrong : undefined);
    if ("wrong" in read) return;
    const minimum = read.pico;
    const least = minimum === 0n ? {} : { minimum_micro: toWholeMicro(minimum) };
    create.mutate(
      { note: readTextField(fields, "note").trim(), ...least },
      {
        onSuccess: ({ id, hosts }) => {
          onClose();
          onCreated(id);
          const created = `Created a payout for ${hosts} ${hosts === 1 ? "host" : "hosts"}`;
          toast(hosts === 0 ? "All earnings were deducted for debts. There is nothing to pay out." : created);
        },
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Create payout"
      about="Hosts are paid the earnings that are past the hold-back period and not in an open payout. Debts of an owner's own builder account are deducted (set-off)."
    >
      <Form onSubmit={submit} error={create.error} fields={["note", "minimum_micro"]}>
        <AmountField
          label="Minimum per host ($)"
          name="minimum"
          placeholder={formatDollarsForInput(parseMicro("10000000"))}
          hint="Leave empty to pay every host that is owed money."
          error={problem ?? findFieldError(create.error, "minimum_micro")}
        />
        <TextField
          label="Note"
          name="note"
          maxLength={200}
          autoComplete="off"
          placeholder="November"
          error={findFieldError(create.error, "note")}
        />
        <FormActions onCancel={onClose} busy={create.isPending}>
          Create payout
        </FormActions>
      </Form>
    </Dialog>
  );
}
