/** Asks an operator why, before something that others will feel. */
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogActions } from "../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";

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
      <Form onSubmit={(fields) => onSubmit(textOf(fields, "reason").trim())} error={error} fields={["reason"]}>
        <TextField
          label="Reason"
          name="reason"
          required
          maxLength={200}
          autoComplete="off"
          hint={hint ?? "It goes into the audit log."}
          error={errorOfField(error, "reason")}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look={danger ? "danger" : "primary"} busy={busy}>
            {action}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
