/** A dialog that asks an operator for a reason before an action that affects others. */
import { Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";

interface Props {
  title: string;
  about: string;
  /** The verb on the button. */
  action: string;
  danger: boolean;
  hint?: string;
  onClose: () => void;
  onSubmit: (reason: string) => void;
  busy: boolean;
  error: unknown;
}

export function ReasonDialog({ title, about, action, danger, hint, onClose, onSubmit, busy, error }: Props) {
  return (
    <Dialog open onClose={onClose} title={title} about={about}>
      <Form onSubmit={(fields) => onSubmit(readTextField(fields, "reason").trim())} error={error} fields={["reason"]}>
        <TextField
          label="Reason"
          name="reason"
          required
          maxLength={200}
          autoComplete="off"
          hint={hint ?? "Recorded in the audit log."}
          error={findFieldError(error, "reason")}
        />
        <FormActions onCancel={onClose} busy={busy} danger={danger}>
          {action}
        </FormActions>
      </Form>
    </Dialog>
  );
}
