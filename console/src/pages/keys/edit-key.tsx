/** A dialog that changes a key's name and settings. Only changed fields are sent. */
import { useState } from "react";
import type { ApiKey } from "../../api/answer-types.ts";
import { useChangeKey } from "../../data/keys.ts";
import { Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";
import { toast } from "../../ui/toast.tsx";
import { fillKeyForm, findChangedSettings, readKeyForm } from "./key-form.ts";
import { KeySettingsFields, listFieldsWithInlineErrors } from "./key-settings-fields.tsx";

export function EditKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const change = useChangeKey(apiKey.id);
  // The settings when the dialog opened. A background refresh must not overwrite what the user types.
  const [begin] = useState(() => fillKeyForm(apiKey));
  const [problem, setProblem] = useState<{ param: string; text: string }>();
  const submit = (fields: FormData): void => {
    const read = findChangedSettings(readKeyForm(fields), begin);
    setProblem("problem" in read ? read.problem : undefined);
    if ("problem" in read) return;
    if (Object.keys(read.change).length === 0) {
      onClose();
      return;
    }
    change.mutate(read.change, {
      onSuccess: ({ name }) => {
        onClose();
        toast(`Saved ${name}`);
      },
    });
  };
  return (
    <Dialog open onClose={onClose} title={`Edit ${apiKey.name}`} about="Changes apply immediately, on every gateway.">
      <Form onSubmit={submit} error={change.error} fields={listFieldsWithInlineErrors(change.error)}>
        <TextField
          label="Name"
          name="name"
          required
          maxLength={200}
          autoComplete="off"
          defaultValue={begin.name}
          hint="Past requests keep the key's old name."
          error={findFieldError(change.error, "name")}
        />
        <KeySettingsFields begin={begin} problem={problem} error={change.error} ceiling={apiKey.limits_max} />
        <FormActions onCancel={onClose} busy={change.isPending}>
          Save
        </FormActions>
      </Form>
    </Dialog>
  );
}
