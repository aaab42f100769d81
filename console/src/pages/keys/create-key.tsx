/** A dialog that creates a key. Only a name is required. The secret is shown once. */

import { useState } from "react";
import { useCreateKey } from "../../data/keys.ts";
import { API_KEY_KIND } from "../../keys/api-keys.ts";
import { NewSecret, newSecretTitle } from "../../secrets/new-secret.tsx";
import { Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";
import { ChevronRight } from "../../ui/icons.tsx";
import { findChangedSettings, NEW_KEY_FORM, readKeyForm } from "./key-form.ts";
import { KeySettingsFields, listFieldsWithInlineErrors } from "./key-settings-fields.tsx";

export function CreateKeyDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [secret, setSecret] = useState<string>();
  const close = (): void => {
    onClose();
    setSecret(undefined);
  };
  const words = secret === undefined ? { title: "Create API key", about: API_KEY_KIND.naming } : newSecretTitle("key");
  return (
    <Dialog open={open} onClose={close} {...words}>
      {secret === undefined ? (
        <CreateForm onCancel={close} onCreated={setSecret} />
      ) : (
        <NewSecret noun="key" secret={secret} onDone={close} />
      )}
    </Dialog>
  );
}

function CreateForm({ onCancel, onCreated }: { onCancel: () => void; onCreated: (secret: string) => void }) {
  const create = useCreateKey();
  const [problem, setProblem] = useState<{ param: string; text: string }>();
  const submit = (fields: FormData): void => {
    const form = readKeyForm(fields);
    const read = findChangedSettings(form, NEW_KEY_FORM);
    setProblem("problem" in read ? read.problem : undefined);
    if ("problem" in read) return;
    create.mutate({ ...read.change, name: form.name }, { onSuccess: ({ secret }) => onCreated(secret) });
  };
  return (
    <Form onSubmit={submit} error={create.error} fields={listFieldsWithInlineErrors(create.error)}>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder={API_KEY_KIND.example}
        autoComplete="off"
        error={findFieldError(create.error, "name")}
      />
      <details className="group rounded-md border border-line">
        <summary className="flex cursor-pointer items-center gap-1.5 px-3 py-2 font-medium select-none">
          <ChevronRight aria-hidden className="size-4 text-ink-soft transition-transform group-open:rotate-90" />
          Budget, expiry, models, limits
        </summary>
        <div className="flex flex-col gap-4 border-t border-line p-3">
          <KeySettingsFields begin={NEW_KEY_FORM} problem={problem} error={create.error} />
        </div>
      </details>
      <FormActions onCancel={onCancel} busy={create.isPending}>
        Create key
      </FormActions>
    </Form>
  );
}
