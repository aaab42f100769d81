/** Renaming a key. Spend that was recorded keeps the name it had then. */
import type { ApiKey } from "../../api/types.ts";
import { useRenameKey } from "../../data/keys.ts";
import { RenameDialog } from "../../ui/rename-dialog.tsx";

export function RenameKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const about = "Past requests keep the name they were made with.";
  return <RenameDialog title="Rename key" about={about} of={apiKey} rename={useRenameKey()} onClose={onClose} />;
}
