/** Turns two-factor authentication on or off, and creates new backup codes. Each action requires the password. */
import { useState } from "react";
import { useCreateBackupCodes, useDisableTwoFactor } from "../../data/sign-in-security.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.tsx";
import { BackupCodes, PasswordForm } from "./two-factor-parts.tsx";
import { TwoFactorSetup } from "./two-factor-setup.tsx";

type Task = "set up" | "new codes" | "turn off";

export function TwoFactorCard({ on }: { on: boolean }) {
  const [task, setTask] = useState<Task>();
  const done = (): void => setTask(undefined);
  return (
    <Card title="Two-factor authentication" aside={<Badge tone={on ? "good" : "neutral"}>{on ? "on" : "off"}</Badge>}>
      <p className="mb-4 max-w-prose text-ink-soft">
        Sign in with a code from your authenticator app as well as your password.
      </p>
      <div className="flex flex-wrap gap-2">
        {on ? (
          <>
            <Button onClick={() => setTask("new codes")}>New backup codes</Button>
            <Button look="danger" onClick={() => setTask("turn off")}>
              Turn off
            </Button>
          </>
        ) : (
          <Button onClick={() => setTask("set up")}>Set up</Button>
        )}
      </div>
      {task === "set up" && <TwoFactorSetup onClose={done} />}
      {task === "new codes" && <NewCodes onClose={done} />}
      {task === "turn off" && <TurnOff onClose={done} />}
    </Card>
  );
}

function NewCodes({ onClose }: { onClose: () => void }) {
  const make = useCreateBackupCodes();
  return (
    <Dialog
      open
      onClose={onClose}
      title="New backup codes"
      about="Your old backup codes stop working when you create new ones."
    >
      {make.isSuccess ? (
        <BackupCodes codes={make.data.backup_codes} onDone={onClose} />
      ) : (
        <PasswordForm mutation={make} action="Create new codes" onCancel={onClose} />
      )}
    </Dialog>
  );
}

function TurnOff({ onClose }: { onClose: () => void }) {
  const end = useDisableTwoFactor();
  return (
    <Dialog
      open
      onClose={onClose}
      title="Turn off two-factor authentication"
      about="You will sign in with your password only."
    >
      <PasswordForm
        mutation={end}
        action="Turn off"
        onCancel={onClose}
        onSuccess={() => {
          onClose();
          toast("Two-factor authentication is off");
        }}
      />
    </Dialog>
  );
}
