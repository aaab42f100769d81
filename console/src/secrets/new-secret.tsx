/** A secret that was just created, which is shown only once. */
import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { DialogActions } from "../ui/dialog.tsx";
import { Secret } from "../ui/secret.tsx";

/**
 * The title for the dialog whose form created the secret: the same dialog continues, so that it keeps the focus.
 * `noun`: "key".
 */
export const newSecretTitle = (noun: string) =>
  ({ title: `Your new ${noun}`, about: "Copy it now. You will not see it again.", sticky: true }) as const;

interface Props {
  noun: string;
  secret: string;
  onDone: () => void;
  /** Notes shown beside the secret. */
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
