/**
 * The dialog that sets up two-factor authentication: password, the authenticator app's secret, a first code, the backup
 * codes.
 */
import { useState } from "react";
import { useBeginTwoFactor, useConfirmTwoFactor } from "../../data/sign-in-security.ts";
import { Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";
import { SecretText } from "../../ui/secret-text.tsx";
import { toast } from "../../ui/toast.tsx";
import { BackupCodes, PasswordForm } from "./two-factor-parts.tsx";

export function TwoFactorSetup({ onClose }: { onClose: () => void }) {
  const begin = useBeginTwoFactor();
  const [confirmed, setConfirmed] = useState(false);
  const close = (): void => {
    onClose();
    if (confirmed) toast("Two-factor authentication is on");
  };
  return (
    <Dialog open onClose={close} title="Set up two-factor authentication">
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
    confirm.mutate(readTextField(fields, "code").replaceAll(/\s/g, ""), { onSuccess: onConfirmed });
  return (
    <Form onSubmit={submit} error={confirm.error} fields={["code"]}>
      <p className="text-ink-soft">
        Add this secret to your authenticator app (
        <a href={uri} className="text-accent underline underline-offset-2">
          open it on this device
        </a>
        ), then enter the code it shows.
      </p>
      <SecretText text={secret} noun="secret" />
      <TextField
        label="Code"
        name="code"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        maxLength={7}
        error={findFieldError(confirm.error, "code")}
      />
      <FormActions onCancel={onCancel} busy={confirm.isPending}>
        Turn on
      </FormActions>
    </Form>
  );
}
