/** A panel at the right edge with the details of a list item. On narrow screens it fills the screen. */

import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { IconButton } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { X } from "./icons.tsx";
import { useReturnFocus } from "./return-focus.ts";
import { SharedDecimalPlaces } from "./shared-decimal-places.tsx";

interface DrawerProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Drawer({ open, onClose, title, actions, children }: DrawerProps) {
  const focusBack = useReturnFocus();
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-fade-in bg-shade" />
        <Radix.Content
          {...focusBack}
          aria-describedby={undefined}
          className="fixed inset-y-0 right-0 z-50 flex w-full max-w-xl animate-slide-in flex-col border-l outline-none border-line bg-raised shadow-xl"
        >
          <header className="flex items-center justify-between gap-3 border-b border-line px-4 py-3 sm:px-6">
            <Radix.Title className="min-w-0 truncate text-base font-semibold">{title}</Radix.Title>
            <div className="flex shrink-0 items-center gap-1">
              {actions}
              <Radix.Close asChild>
                <IconButton label="Close">
                  <X aria-hidden className="size-4" />
                </IconButton>
              </Radix.Close>
            </div>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-4 py-5 sm:px-6">
            <SharedDecimalPlaces>{children}</SharedDecimalPlaces>
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export const DrawerSection = ({ title, children }: { title: string; children: ReactNode }) => (
  <section>
    <h3 className="mb-2.5 font-semibold">{title}</h3>
    {children}
  </section>
);

/** An ID with a copy button. `of`: the kind of object, for example "request". */
export const IdLine = ({ id, of }: { id: string; of: string }) => (
  <div className="flex items-center gap-1">
    <code className="min-w-0 font-mono text-xs break-all">{id}</code>
    <CopyButton text={id} label={`Copy the ${of} ID`} />
  </div>
);

/** A list of names and values. */
export function PropertyList({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-6 gap-y-2.5">{children}</dl>;
}

export function Property({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-soft">{name}</dt>
      <dd className="min-w-0 text-right break-words sm:text-left">{children}</dd>
    </>
  );
}
