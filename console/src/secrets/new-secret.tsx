/** A secret that was just made. It is shown here, once, and nowhere else. */
import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogActions } from "../ui/dialog.tsx";
import { Secret } from "../ui/secret.tsx";

interface Props {
  /** "key". */
  noun: string;
  secret: string;
  open: boolean;
  onClose: () => void;
  /** What there is to know beside it. */
  children?: ReactNode;
}

export const NewSecretDialog = ({ noun, secret, open, onClose, children }: Props) => (
  <Dialog
    open={open}
    onClose={onClose}
    sticky
    title={`Your new ${noun}`}
    about="Copy it now: it cannot be shown again."
  >
    <div className="mb-4">
      <Secret text={secret} label={`Copy the ${noun}`} focused />
    </div>
    {children !== undefined && <p className="mb-4 text-ink-soft">{children}</p>}
    <DialogActions>
      <Button look="primary" onClick={onClose}>
        Done
      </Button>
    </DialogActions>
  </Dialog>
);
