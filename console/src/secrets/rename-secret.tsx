/** Renaming a secret. What was recorded keeps the name it had then. */
import { RenameDialog } from "../ui/rename-dialog.tsx";
import type { SecretKind, SecretRow } from "./secret-kind.ts";

interface Props {
  noun: string;
  useRename: NonNullable<SecretKind["useRename"]>;
  secret: SecretRow;
  onClose: () => void;
}

export function RenameSecretDialog({ noun, useRename, secret, onClose }: Props) {
  const about = "Past requests keep the name they were made with.";
  return <RenameDialog title={`Rename ${noun}`} about={about} of={secret} rename={useRename()} onClose={onClose} />;
}
