/** Shared parts of the two-factor dialogs. */
import type { UseMutationResult } from "@tanstack/react-query";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code.tsx";
import { DialogActions, FormActions } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, PasswordField } from "../../ui/form-fields.tsx";
import { useShownOnce } from "../../ui/text-shown-once.tsx";

interface PasswordFormProps<Data> {
  mutation: UseMutationResult<Data, Error, string>;
  action: string;
  onCancel: () => void;
  onSuccess?: () => void;
}

export function PasswordForm<Data>({ mutation, action, onCancel, onSuccess }: PasswordFormProps<Data>) {
  return (
    <Form
      onSubmit={(fields) =>
        mutation.mutate(
          readTextField(fields, "password"),
          onSuccess === undefined ? {} : { onSuccess: () => onSuccess() },
        )
      }
      error={mutation.error}
      fields={["password"]}
    >
      <PasswordField
        label="Your password"
        name="password"
        autoComplete="current-password"
        required
        error={findFieldError(mutation.error, "password")}
      />
      <FormActions onCancel={onCancel} busy={mutation.isPending}>
        {action}
      </FormActions>
    </Form>
  );
}

export function BackupCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const onCopied = useShownOnce("backup codes");
  return (
    <div onCopy={onCopied} className="flex flex-col gap-4">
      <p className="text-ink-soft">
        Store these codes somewhere safe, not on your phone. Each code works once. You will not see them again.
      </p>
      <CodeBlock text={codes.join("\n")} label="the backup codes" onCopied={onCopied} />
      <DialogActions>
        <Button look="primary" onClick={onDone}>
          I saved the codes
        </Button>
      </DialogActions>
    </div>
  );
}
