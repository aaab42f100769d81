/** Making a payout of everything that hosts are owed. */
import { useState } from "react";
import { useCreatePayout } from "../../../data/payouts.ts";
import { parseDollars } from "../../../money.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog, DialogActions } from "../../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../../ui/field.tsx";
import { Form, textOf } from "../../../ui/form.tsx";
import { toast } from "../../../ui/toast.tsx";

const PICO_PER_MICRO = 1_000_000n;

interface Props {
  onClose: () => void;
  onCreated: (id: string) => void;
}

export function CreatePayoutDialog({ onClose, onCreated }: Props) {
  const create = useCreatePayout();
  const [problem, setProblem] = useState<string>();
  const submit = (fields: FormData): void => {
    const text = textOf(fields, "minimum").trim();
    const minimum = text === "" ? 0n : parseDollars(text);
    setProblem(minimum === undefined ? "An amount in dollars, such as 10." : undefined);
    if (minimum === undefined) return;
    const least = minimum === 0n ? {} : { minimum_micro: String(minimum / PICO_PER_MICRO) };
    create.mutate(
      { note: textOf(fields, "note").trim(), ...least },
      {
        onSuccess: ({ id, hosts }) => {
          onClose();
          onCreated(id);
          const made = `A payout for ${hosts} ${hosts === 1 ? "host" : "hosts"} was made`;
          toast(hosts === 0 ? "Debts were set off; there is nothing to send" : made);
        },
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Make a payout"
      about="Of what is owed, is not in an open payout yet and is older than the hold-back. What owners owe on builder accounts is set off first."
    >
      <Form onSubmit={submit} error={create.error} fields={["note", "minimum_micro"]}>
        <TextField
          label="Only hosts that are owed at least, in dollars"
          name="minimum"
          inputMode="decimal"
          autoComplete="off"
          placeholder="10.00"
          hint="Empty: everybody who is owed anything."
          error={problem ?? errorOfField(create.error, "minimum_micro")}
        />
        <TextField
          label="Note"
          name="note"
          maxLength={200}
          autoComplete="off"
          placeholder="November"
          error={errorOfField(create.error, "note")}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.isPending}>
            Make the payout
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
