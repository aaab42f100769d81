/** A dialog that revokes a secret after a confirmation. */
import type { ReactNode } from "react";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { toast } from "../ui/toast.tsx";
import type { SecretKind, SecretRow } from "./secret-kind.ts";

interface Props {
  kind: SecretKind;
  secret: SecretRow;
  onClose: () => void;
  /** The text that says what stops working. */
  children: ReactNode;
}

export function RevokeSecretDialog({ kind: { noun, useRevoke }, secret: { id, name }, onClose, children }: Props) {
  const revoke = useRevoke();
  const confirm = (): void =>
    revoke.mutate(id, {
      onSuccess: () => {
        onClose();
        toast(`Revoked ${name}`);
      },
    });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Revoke ${name}?`}
      action={`Revoke ${noun}`}
      onConfirm={confirm}
      busy={revoke.isPending}
      error={revoke.error}
    >
      <p>{children} This cannot be undone.</p>
    </ConfirmDialog>
  );
}
