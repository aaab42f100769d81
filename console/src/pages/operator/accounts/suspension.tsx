/** Suspending an account, or restoring it, with a reason for the log. */
import type { PlatformAccount } from "../../../api/operator-types.ts";
import { useSuspension } from "../../../data/platform-accounts.ts";
import { toast } from "../../../ui/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

const ABOUT = {
  builder: "Its keys are refused and its people cannot act for it. What it owns stays its own.",
  host: "Its nodes get no work and its people cannot act for it. What it has earned stays owed.",
};

export function SuspensionDialog({ account, onClose }: { account: PlatformAccount; onClose: () => void }) {
  const { id, name, kind, suspended_at } = account;
  const change = useSuspension(id);
  const verb = suspended_at === null ? "suspend" : "restore";
  const submit = (reason: string): void =>
    change.mutate(
      { verb, reason },
      {
        onSuccess: () => {
          onClose();
          toast(`${verb === "suspend" ? "Suspended" : "Restored"} ${name}`);
        },
      },
    );
  return (
    <ReasonDialog
      title={`${verb === "suspend" ? "Suspend" : "Restore"} ${name}?`}
      about={verb === "suspend" ? ABOUT[kind] : "It works again as before."}
      action={verb === "suspend" ? "Suspend" : "Restore"}
      danger={verb === "suspend"}
      onClose={onClose}
      onSubmit={submit}
      busy={change.isPending}
      error={change.error}
    />
  );
}
