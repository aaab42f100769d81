/** Creating a key. Its secret is shown here, once, and nowhere else. */
import { useState } from "react";
import { useCreateKey } from "../../data/keys.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog, DialogActions } from "../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";

interface Props {
  open: boolean;
  onClose: () => void;
  /** For a page that has a use for the secret while it is there. */
  onCreated?: (secret: string) => void;
}

export function CreateKeyDialog({ open, onClose, onCreated }: Props) {
  const [secret, setSecret] = useState<string>();
  const create = useCreateKey();
  const close = (): void => {
    onClose();
    setSecret(undefined);
    create.reset();
  };
  if (secret !== undefined) {
    return (
      <Dialog open={open} onClose={close} sticky title="Your new key" about="Copy it now: it cannot be shown again.">
        <SecretOnce secret={secret} />
        <DialogActions>
          <Button look="primary" onClick={close}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <Dialog open={open} onClose={close} title="Create an API key" about="Name it for what will use it.">
      <Form
        onSubmit={(fields) =>
          create.mutate(textOf(fields, "name").trim(), {
            onSuccess: (created) => {
              setSecret(created.secret);
              onCreated?.(created.secret);
            },
          })
        }
        error={create.error}
        fields={["name"]}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={200}
          placeholder="production"
          autoComplete="off"
          error={errorOfField(create.error, "name")}
        />
        <DialogActions>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" look="primary" busy={create.isPending}>
            Create key
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}

/** A secret that this page will never see again. */
export function SecretOnce({ secret }: { secret: string }) {
  return (
    <div className="mb-4 flex items-center gap-2 rounded-md border border-line bg-sunken p-2 pl-3">
      <code className="min-w-0 flex-1 font-mono text-xs break-all">{secret}</code>
      <CopyButton text={secret} label="Copy the key" worded focused />
    </div>
  );
}
