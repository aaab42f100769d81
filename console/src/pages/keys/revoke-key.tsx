/** Revoking a key, after asking. */
import type { ApiKey } from "../../api/types.ts";
import { useRevokeKey } from "../../data/keys.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";

export function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { id, name, last_used_at } = apiKey;
  const revoke = useRevokeKey();
  const confirm = (): void =>
    revoke.mutate(id, {
      onSuccess: () => {
        onClose();
        toast(`Revoked ${name}`);
      },
    });
  return (
    <Confirm
      open
      onClose={onClose}
      title={`Revoke ${name}?`}
      action="Revoke key"
      onConfirm={confirm}
      busy={revoke.isPending}
      error={revoke.error}
    >
      <p>
        Whatever uses this key is refused from now on. This cannot be undone.{" "}
        {last_used_at === null ? (
          "It was never used."
        ) : (
          <>
            It was last used <Time at={last_used_at} as="ago" />.
          </>
        )}
      </p>
    </Confirm>
  );
}
