/** Setting up the second factor: the password, the app's secret, a first code, the backup codes. */
import { useState } from "react";
import { useBeginTwoFactor, useConfirmTwoFactor } from "../../data/security.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog, DialogActions } from "../../ui/dialog.tsx";
import { errorOfField, TextField } from "../../ui/field.tsx";
import { Form, textOf } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";
import { BackupCodes, PasswordForm } from "./two-factor-parts.tsx";

export function TwoFactorSetup({ onClose }: { onClose: () => void }) {
  const begin = useBeginTwoFactor();
  const [confirmed, setConfirmed] = useState(false);
  const close = (): void => {
    onClose();
    if (confirmed) toast("The second factor is on");
  };
  return (
    <Dialog open onClose={close} sticky={begin.isSuccess} title="Set up the second factor">
      {!begin.isSuccess ? (
        <PasswordForm mutation={begin} action="Continue" onCancel={close} />
      ) : confirmed ? (
        <BackupCodes codes={begin.data.backup_codes} onDone={close} />
      ) : (
        <FirstCode {...begin.data} onConfirmed={() => setConfirmed(true)} onCancel={close} />
      )}
    </Dialog>
  );
}

interface FirstCodeProps {
  uri: string;
  secret: string;
  onConfirmed: () => void;
  onCancel: () => void;
}

function FirstCode({ uri, secret, onConfirmed, onCancel }: FirstCodeProps) {
  const confirm = useConfirmTwoFactor();
  const submit = (fields: FormData): void =>
    confirm.mutate(textOf(fields, "code").replaceAll(/\s/g, ""), { onSuccess: onConfirmed });
  return (
    <Form onSubmit={submit} error={confirm.error} fields={["code"]}>
      <p className="text-ink-soft">
        Add this secret to your authenticator app (
        <a href={uri} className="text-accent underline underline-offset-2">
          open it on this device
        </a>
        ), then type the code that it shows.
      </p>
      <div className="flex items-center gap-2 rounded-md border border-line bg-sunken p-2 pl-3">
        <code className="min-w-0 flex-1 font-mono text-xs break-all">{secret}</code>
        <CopyButton text={secret} label="Copy the secret" />
      </div>
      <TextField
        label="Code"
        name="code"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        maxLength={7}
        error={errorOfField(confirm.error, "code")}
      />
      <DialogActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" busy={confirm.isPending}>
          Turn on
        </Button>
      </DialogActions>
    </Form>
  );
}
