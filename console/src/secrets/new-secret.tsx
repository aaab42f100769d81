/** A secret that was just made. It is shown here, once, and nowhere else. */
import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { DialogActions } from "../ui/dialog.tsx";
import { Secret } from "../ui/secret.tsx";

/** For the dialog whose form made it: the same one goes on, so that the focus stays in it. `noun`: "key". */
export const newSecretTitle = (noun: string) =>
  ({ title: `Your new ${noun}`, about: "Copy it now. You will not see it again.", sticky: true }) as const;

interface Props {
  noun: string;
  secret: string;
  onDone: () => void;
  /** What there is to know beside it. */
  children?: ReactNode;
}

export const NewSecret = ({ noun, secret, onDone, children }: Props) => (
  <>
    <div className="mb-4">
      <Secret text={secret} label={`Copy the ${noun}`} focused />
    </div>
    {children !== undefined && <p className="mb-4 text-ink-soft">{children}</p>}
    <DialogActions>
      <Button look="primary" onClick={onDone}>
        Done
      </Button>
    </DialogActions>
  </>
);
