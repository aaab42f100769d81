/**
 * A dialog to enter a payout method. The whole number is typed each time, because the API never returns it to the
 * console.
 */
import { useState } from "react";
import type { NewPayoutMethod } from "../../../api/answer-types.ts";
import { useSetPayoutMethod } from "../../../data/host-payouts.ts";
import { useMe } from "../../../data/signed-in-session.ts";
import { Dialog, FormActions } from "../../../ui/dialog.tsx";
import { Form, readTextField } from "../../../ui/form.tsx";
import { findFieldError, SelectField, TextField } from "../../../ui/form-fields.tsx";
import { toast } from "../../../ui/toast.tsx";
import { PAYOUT_METHOD_KINDS, PAYOUT_METHOD_TEXTS } from "./payout-method-texts.ts";

export function PayoutMethodDialog({ onClose }: { onClose: () => void }) {
  const set = useSetPayoutMethod();
  const { identity } = useMe();
  const [kind, setKind] = useState<NewPayoutMethod["kind"]>("iban");
  const { number, example, bankCode } = PAYOUT_METHOD_TEXTS[kind];
  const submit = (fields: FormData): void =>
    set.mutate(
      {
        kind,
        holder: readTextField(fields, "holder"),
        number: readTextField(fields, "number"),
        ...(bankCode !== undefined && { bank_code: readTextField(fields, "bank_code") }),
        ...(identity.two_factor && { code: readTextField(fields, "code") }),
      },
      {
        onSuccess: () => {
          onClose();
          toast("Payout method saved");
        },
      },
    );
  return (
    <Dialog
      open
      sticky
      onClose={onClose}
      title="Payout method"
      about="Only the operators who send the money see the full account number. Owners and billing contacts get an email about the change."
    >
      <Form onSubmit={submit} error={set.error} fields={["kind", "holder", "number", "bank_code", "code"]}>
        <SelectField
          label="Kind"
          name="kind"
          value={kind}
          options={PAYOUT_METHOD_KINDS.map((value) => ({ value, label: PAYOUT_METHOD_TEXTS[value].label }))}
          onChange={({ target }) => {
            set.reset();
            setKind(target.value as NewPayoutMethod["kind"]);
          }}
          error={findFieldError(set.error, "kind")}
        />
        <TextField
          label="Name on the account"
          name="holder"
          maxLength={100}
          autoComplete="off"
          required
          error={findFieldError(set.error, "holder")}
        />
        <TextField
          key={`number ${kind}`}
          label={number}
          name="number"
          placeholder={example}
          autoComplete="off"
          required
          error={findFieldError(set.error, "number")}
        />
        {bankCode !== undefined && (
          <TextField
            key={`code ${kind}`}
            label={bankCode.label}
            name="bank_code"
            placeholder={bankCode.example}
            autoComplete="off"
            required={bankCode.required}
            error={findFieldError(set.error, "bank_code")}
          />
        )}
        {identity.two_factor && (
          <TextField
            label="Code"
            name="code"
            hint="A code from your authenticator app, or a backup code."
            autoComplete="one-time-code"
            required
            maxLength={17}
            error={findFieldError(set.error, "code")}
          />
        )}
        <FormActions onCancel={onClose} busy={set.isPending}>
          Save payout method
        </FormActions>
      </Form>
    </Dialog>
  );
}
