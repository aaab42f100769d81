/** A dialog and a form that create a secret (an API key or a host token), which is shown only once. */
import { type ReactNode, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { Form, readTextField } from "../ui/form.tsx";
import { findFieldError, TextField } from "../ui/form-fields.tsx";
import { NewSecret, newSecretTitle } from "./new-secret.tsx";
import type { SecretKind } from "./secret-kind.ts";

interface DialogProps {
  kind: SecretKind;
  open: boolean;
  onClose: () => void;
  /** Called with the secret, for pages that use it. */
  onCreated?: (secret: string) => void;
}

export function CreateSecretDialog({ kind, open, onClose, onCreated }: DialogProps) {
  const { noun, fullName, naming } = kind;
  const [secret, setSecret] = useState<string>();
  const close = (): void => {
    onClose();
    setSecret(undefined);
  };
  const created = (text: string): void => {
    setSecret(text);
    onCreated?.(text);
  };
  const words = secret === undefined ? { title: `Create ${fullName}`, about: naming } : newSecretTitle(noun);
  return (
    <Dialog open={open} onClose={close} {...words}>
      {secret === undefined ? (
        <CreateSecretForm
          kind={kind}
          onCreated={created}
          actions={(busy) => (
            <FormActions onCancel={close} busy={busy}>
              Create {noun}
            </FormActions>
          )}
        />
      ) : (
        <NewSecret noun={noun} secret={secret} onDone={close} />
      )}
    </Dialog>
  );
}

interface FormProps {
  kind: SecretKind;
  onCreated: (secret: string) => void;
  /** Buttons that replace the form's single button. */
  actions?: (busy: boolean) => ReactNode;
}

/** The form without a dialog around it, for use in a dialog or a page. */
export function CreateSecretForm({ kind: { noun, example, useCreate }, onCreated, actions }: FormProps) {
  const create = useCreate();
  const submit = (fields: FormData): void =>
    create.mutate(readTextField(fields, "name").trim(), { onSuccess: ({ secret }) => onCreated(secret) });
  return (
    <Form onSubmit={submit} error={create.error} fields={["name"]}>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder={example}
        autoComplete="off"
        error={findFieldError(create.error, "name")}
      />
      {actions?.(create.isPending) ?? (
        <Button type="submit" look="primary" className="self-start" busy={create.isPending}>
          Create {noun}
        </Button>
      )}
    </Form>
  );
}
