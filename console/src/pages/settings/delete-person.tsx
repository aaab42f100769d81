/** A dialog that deletes the user's own sign-in. Accounts without another owner must be deleted first. */
import type { Me } from "../../api/answer-types.ts";
import { useDeletePerson } from "../../data/account-and-person-deletion.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { ConfirmDeletion } from "./confirm-deletion.tsx";

export function DeletePersonDialog({ me, onClose }: { me: Me["identity"]; onClose: () => void }) {
  const remove = useDeletePerson();
  return (
    <Dialog open onClose={onClose} sticky title="Delete yourself?" about="This cannot be undone.">
      <ConfirmDeletion
        mutation={remove}
        expected={me.email}
        field="email"
        twoFactor={me.two_factor}
        action="Delete me"
        onCancel={onClose}
        onDone={() => {}}
      >
        <ul className="flex list-disc flex-col gap-1.5 pl-5 text-ink-soft">
          <li>
            Your name, email address, password, second factor and settings are deleted, and all your sessions end.
          </li>
          <li>You leave all teams. Accounts that only you own have to be deleted, or given another owner, first.</li>
          {me.operator && <li>Your actions as an operator stay in the audit log with your email address.</li>}
        </ul>
      </ConfirmDeletion>
    </Dialog>
  );
}
