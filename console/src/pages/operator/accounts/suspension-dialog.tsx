/** A dialog that suspends or restores an account, with a reason for the audit log. */
import type { PlatformAccount } from "../../../api/answer-types.ts";
import { useSetSuspension } from "../../../data/platform-accounts.ts";
import { toast } from "../../../ui/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

const ABOUT = {
  builder: "The account's API keys stop working and its team loses access. The balance is kept.",
  host: "The account's nodes receive no requests and its team loses access. The earnings are still owed.",
};

export function SuspensionDialog({ account, onClose }: { account: PlatformAccount; onClose: () => void }) {
  const { id, name, kind, suspended_at } = account;
  const change = useSetSuspension(id);
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
      about={verb === "suspend" ? ABOUT[kind] : "The account and its team get their access back."}
      action={verb === "suspend" ? "Suspend" : "Restore"}
      danger={verb === "suspend"}
      onClose={onClose}
      onSubmit={submit}
      busy={change.isPending}
      error={change.error}
    />
  );
}
