/**
 * A dialog that changes a member's role. A member cannot become an owner here: new owners are invited, because they
 * must accept liability for the account's debts.
 */
import { useState } from "react";
import type { Account, Role, TeamMember } from "../../api/answer-types.ts";
import { useChangeRole, useInvite } from "../../data/team.ts";
import { Dialog, FormActions } from "../../ui/dialog.tsx";
import { Form } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";
import { InvitationLink } from "./invite-dialog.tsx";
import { RoleChoice } from "./role-choice.tsx";

interface Props {
  account: Account;
  member: TeamMember;
  onClose: () => void;
}

export function RoleDialog({ account, member: { id, email, role: present }, onClose }: Props) {
  const [role, setRole] = useState<Role>(present);
  const change = useChangeRole(account.id);
  const invite = useInvite(account.id);
  const submit = (): void => {
    if (role === "owner") {
      invite.mutate(
        { email, role },
        {
          onSuccess: ({ link }) => {
            if (link !== null) return;
            onClose();
            toast(`Invited ${email} to become an owner`);
          },
        },
      );
      return;
    }
    change.mutate(
      { id, role },
      {
        onSuccess: () => {
          onClose();
          toast(`${email} is now ${role}`);
        },
      },
    );
  };
  if (invite.data?.link != null) return <InvitationLink invitation={invite.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={`Role of ${email}`}>
      <Form onSubmit={submit} error={role === "owner" ? invite.error : change.error}>
        <RoleChoice kind={account.kind} role={role} onChange={setRole} />
        {role === "owner" && present !== "owner" && (
          <p className="text-ink-soft">
            This person gets an invitation to become an owner. Until it is accepted, their role does not change.
          </p>
        )}
        <FormActions onCancel={onClose} busy={change.isPending || invite.isPending} disabled={role === present}>
          {role === "owner" ? "Invite as owner" : "Change role"}
        </FormActions>
      </Form>
    </Dialog>
  );
}
