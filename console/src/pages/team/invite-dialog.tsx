/** A dialog that invites a person. If the platform cannot send email, it shows the link once. */
import { useState } from "react";
import type { Account, Role } from "../../api/answer-types.ts";
import { useInvite } from "../../data/team.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogActions, FormActions } from "../../ui/dialog.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, TextField } from "../../ui/form-fields.tsx";
import { SecretText } from "../../ui/secret-text.tsx";
import { toast } from "../../ui/toast.tsx";
import { RoleChoice } from "./role-choice.tsx";

export function InviteDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const [role, setRole] = useState<Role>("member");
  const invite = useInvite(account.id);
  const submit = (fields: FormData): void =>
    invite.mutate(
      { email: readTextField(fields, "email").trim(), role },
      {
        onSuccess: ({ email, link }) => {
          if (link !== null) return;
          onClose();
          toast(`Invitation sent to ${email}`);
        },
      },
    );
  if (invite.data?.link != null) return <InvitationLink invitation={invite.data} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Invite to ${account.name}`}
      about="The invitation link works once, for 7 days, and only with this email address."
    >
      <Form onSubmit={submit} error={invite.error} fields={["email"]}>
        <TextField
          label="Email"
          name="email"
          type="email"
          required
          autoComplete="off"
          error={findFieldError(invite.error, "email")}
        />
        <RoleChoice kind={account.kind} role={role} onChange={setRole} />
        <FormActions onCancel={onClose} busy={invite.isPending}>
          Send invitation
        </FormActions>
      </Form>
    </Dialog>
  );
}

interface LinkProps {
  invitation: { email: string; link: string | null };
  onClose: () => void;
}

export const InvitationLink = ({ invitation: { email, link }, onClose }: LinkProps) => (
  <Dialog
    open
    onClose={onClose}
    title="Share this link"
    about={`This platform does not send email. Copy the link now and send it to ${email}. You will not see it again.`}
  >
    <div className="mb-4">
      <SecretText text={link ?? ""} noun="link" focused />
    </div>
    <DialogActions>
      <Button look="primary" onClick={onClose}>
        I saved the link
      </Button>
    </DialogActions>
  </Dialog>
);
