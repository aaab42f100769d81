/** Revoking a host token, after asking. */
import type { HostToken } from "../../../api/host-types.ts";
import { useRevokeHostToken } from "../../../data/host.ts";
import { Confirm } from "../../../ui/dialog.tsx";
import { toast } from "../../../ui/toast.tsx";

export function RevokeTokenDialog({ token: { id, name }, onClose }: { token: HostToken; onClose: () => void }) {
  const revoke = useRevokeHostToken();
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
      action="Revoke token"
      onConfirm={confirm}
      busy={revoke.isPending}
      error={revoke.error}
    >
      <p>
        Machines that use it get no new credentials: they stop serving within the hour, when those they have run out.
        This cannot be undone.
      </p>
    </Confirm>
  );
}
