/** Shows a secret that was just created; it is shown only once. */
import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { DialogActions } from "../ui/dialog.tsx";
import { SecretText } from "../ui/secret-text.tsx";

/**
 * The title of the dialog once it shows the new secret. The form's dialog is reused for this, so that the focus stays.
 * `noun`: for example "key".
 */
export const newSecretTitle = (noun: string) =>
  ({ title: `Your new ${noun}`, about: "Copy it now. You will not see it again." }) as const;

interface Props {
  noun: string;
  secret: string;
  onDone: () => void;
  /** Notes below the secret. */
  children?: ReactNode;
}

export const NewSecret = ({ noun, secret, onDone, children }: Props) => (
  <>
    <div className="mb-4">
      <SecretText text={secret} noun={noun} focused />
    </div>
    {children !== undefined && <p className="mb-4 text-ink-soft">{children}</p>}
    <DialogActions>
      <Button look="primary" onClick={onDone}>
        I saved the {noun}
      </Button>
    </DialogActions>
  </>
);
