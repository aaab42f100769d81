/** Dialogs. The focus moves into a dialog when it opens, stays in it, and returns when it closes. */

import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useState } from "react";
import { errorMessage } from "../api/api-fault.ts";
import { Button, IconButton } from "./button.tsx";
import { FormProblem } from "./form.tsx";
import { X } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";
import { useReturnFocus } from "./return-focus.ts";
import { SharedDecimalPlaces } from "./shared-decimal-places.tsx";
import { UnsavedTextContext, useBlockedNavigation } from "./text-shown-once.tsx";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  /** Keeps the dialog open when the user clicks outside. */
  sticky?: boolean;
  wide?: boolean;
  children: ReactNode;
}

export function Dialog({ open, onClose, title, about, sticky = false, wide = false, children }: DialogProps) {
  const focusBack = useReturnFocus({ intoField: true });
  const [unsaved, setUnsaved] = useState<string>();
  const [isLeaving, setLeaving] = useState(false);
  return (
    <Radix.Root
      open={open}
      onOpenChange={(next) => {
        if (next) return;
        if (unsaved === undefined) onClose();
        else setLeaving(true);
      }}
    >
      <Radix.Portal>
        {/* Shown above drawers, because a drawer may open a dialog. */}
        <Radix.Overlay className="fixed inset-0 z-50 animate-fade-in bg-shade" />
        <Radix.Content
          {...focusBack}
          {...(about === undefined && { "aria-describedby": undefined })}
          onInteractOutside={(event) => sticky && event.preventDefault()}
          className={joinClasses(
            "fixed inset-x-3 top-[10vh] z-50 mx-auto max-h-[84vh] animate-rise overflow-y-auto outline-none rounded-xl border border-line bg-raised p-5 shadow-xl sm:p-6",
            wide ? "max-w-2xl" : "max-w-md",
          )}
        >
          <div className="mb-4 flex items-start justify-between gap-4">
            <div className="min-w-0 wrap-anywhere">
              <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
              {about !== undefined && <Radix.Description className="mt-1 text-ink-soft">{about}</Radix.Description>}
            </div>
            <Radix.Close asChild>
              <IconButton label="Close" className="-mt-1 -mr-1 shrink-0">
                <X aria-hidden className="size-4" />
              </IconButton>
            </Radix.Close>
          </div>
          <UnsavedTextContext value={setUnsaved}>
            <SharedDecimalPlaces>{children}</SharedDecimalPlaces>
          </UnsavedTextContext>
          {unsaved !== undefined && (
            <UnsavedTextWarning
              noun={unsaved}
              open={isLeaving}
              onStay={() => setLeaving(false)}
              onLeave={() => {
                setLeaving(false);
                onClose();
              }}
            />
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface WarningProps {
  noun: string;
  open: boolean;
  onStay: () => void;
  onLeave: () => void;
}

function UnsavedTextWarning({ noun, open, onStay, onLeave }: WarningProps) {
  const navigation = useBlockedNavigation();
  return (
    <ConfirmDialog
      open={open || navigation !== undefined}
      onClose={() => {
        navigation?.reset();
        onStay();
      }}
      title={`Leave without copying the ${noun}?`}
      action={`Leave without the ${noun}`}
      onConfirm={() => {
        onLeave();
        navigation?.proceed();
      }}
    >
      You have not copied the {noun}. It is shown only now and cannot be shown again.
    </ConfirmDialog>
  );
}

export const DialogActions = ({ children }: { children: ReactNode }) => (
  <div className="mt-2 flex flex-wrap justify-end gap-2">{children}</div>
);

interface FormActionsProps {
  onCancel: () => void;
  busy: boolean;
  disabled?: boolean;
  danger?: boolean;
  /** The text of the submit button, a verb. */
  children: ReactNode;
}

/** The buttons of a form in a dialog. */
export const FormActions = ({ onCancel, busy, disabled = false, danger = false, children }: FormActionsProps) => (
  <DialogActions>
    <Button onClick={onCancel}>Cancel</Button>
    <Button type="submit" look={danger ? "danger" : "primary"} busy={busy} disabled={disabled}>
      {children}
    </Button>
  </DialogActions>
);

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** Says what the action does, and whether it can be undone. */
  children: ReactNode;
  /** The text of the button, for example "Revoke key". */
  action: string;
  onConfirm: () => void;
  busy?: boolean;
  error?: unknown;
}

/** Asks for confirmation before an action that cannot be undone. */
export function ConfirmDialog({
  open,
  onClose,
  title,
  children,
  action,
  onConfirm,
  busy = false,
  error,
}: ConfirmProps) {
  return (
    <Dialog open={open} onClose={onClose} title={title}>
      <div className="flex flex-col gap-4">
        <div className="text-ink-soft">{children}</div>
        <div role="alert" className="empty:hidden">
          {error !== undefined && error !== null && <FormProblem>{errorMessage(error)}</FormProblem>}
        </div>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" busy={busy} onClick={onConfirm}>
            {action}
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
