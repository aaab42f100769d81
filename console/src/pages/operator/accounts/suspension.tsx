/** Suspending an account, or restoring it, with a reason for the audit log. */
import type { PlatformAccount } from "../../../api/types.ts";
import { useSuspension } from "../../../data/platform-accounts.ts";
import { toast } from "../../../ui/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

const ABOUT = {
  builder: "Its API keys are refused and its owners cannot use it. Its balance is kept.",
  host: "Its nodes receive no requests and its owners cannot use it. Its earnings stay owed.",
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
      about={verb === "suspend" ? ABOUT[kind] : "The account works again as before."}
      action={verb === "suspend" ? "Suspend" : "Restore"}
      danger={verb === "suspend"}
      onClose={onClose}
      onSubmit={submit}
      busy={change.isPending}
      error={change.error}
    />
  );
}
