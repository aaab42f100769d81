/** Creating a host token. Its secret is shown here, once, and nowhere else. */
import { type ReactNode, useState } from "react";
import { useCreateHostToken } from "../../../data/host.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog, DialogActions } from "../../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../../ui/field.tsx";
import { Form, textOf } from "../../../ui/form.tsx";
import { Secret } from "../../../ui/secret.tsx";

interface Props {
  open: boolean;
  onClose: () => void;
}

export function CreateTokenDialog({ open, onClose }: Props) {
  const [secret, setSecret] = useState<string>();
  const close = (): void => {
    onClose();
    setSecret(undefined);
  };
  if (secret !== undefined) {
    return (
      <Dialog open={open} onClose={close} sticky title="Your new token" about="Copy it now: it cannot be shown again.">
        <div className="mb-4">
          <Secret text={secret} label="Copy the token" />
        </div>
        <DialogActions>
          <Button look="primary" onClick={close}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    );
  }
  return (
    <Dialog open={open} onClose={close} title="Create a host token" about="Name it for the machine that will use it.">
      <CreateToken onCreated={setSecret}>
        <Button onClick={close}>Cancel</Button>
      </CreateToken>
    </Dialog>
  );
}

interface FormProps {
  onCreated: (secret: string) => void;
  /** Beside the button. */
  children?: ReactNode;
}

/** The form alone, for a dialog or a page. */
export function CreateToken({ onCreated, children }: FormProps) {
  const create = useCreateHostToken();
  return (
    <Form
      onSubmit={(fields) =>
        create.mutate(textOf(fields, "name").trim(), { onSuccess: ({ secret }) => onCreated(secret) })
      }
      error={create.error}
      fields={["name"]}
    >
      <TextField
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder="garage"
        autoComplete="off"
        error={errorOfField(create.error, "name")}
      />
      <div className={children === undefined ? undefined : "mt-2 flex flex-wrap justify-end gap-2"}>
        {children}
        <Button type="submit" look="primary" busy={create.isPending}>
          Create token
        </Button>
      </div>
    </Form>
  );
}
