/** The details of a request: beside the list on wide screens, otherwise in a drawer. */
import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { IconButton } from "../../ui/button.tsx";
import { Drawer } from "../../ui/drawer.tsx";
import { ChevronRight, X } from "../../ui/icons.tsx";
import { RequestContent } from "./request-drawer.tsx";

const WIDE = "(min-width: 80rem)";

export function useIsWideScreen(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const media = matchMedia(WIDE);
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    () => matchMedia(WIDE).matches,
  );
}

interface Props {
  id: string | undefined;
  /** The IDs of the listed requests, for the buttons that open the previous and next one. */
  ids: readonly string[];
  wide: boolean;
  onOpen: (id: string | undefined) => void;
}

export function RequestPane({ id, ids, wide, onOpen }: Props) {
  const place = id === undefined ? -1 : ids.indexOf(id);
  const step = (by: number): string | undefined => (place < 0 ? undefined : ids[place + by]);
  const steps = (
    <>
      <Step label="Previous request" to={step(-1)} onOpen={onOpen} className="-rotate-90" />
      <Step label="Next request" to={step(1)} onOpen={onOpen} className="rotate-90" />
    </>
  );
  if (!wide) {
    return (
      <Drawer open={id !== undefined} onClose={() => onOpen(undefined)} title="Request" actions={steps}>
        <RequestContent id={id} />
      </Drawer>
    );
  }
  return id === undefined ? null : (
    <Beside onClose={() => onOpen(undefined)} steps={steps}>
      <RequestContent id={id} />
    </Beside>
  );
}

interface StepProps {
  label: string;
  to: string | undefined;
  onOpen: (id: string) => void;
  className: string;
}

const Step = ({ label, to, onOpen, className }: StepProps) => (
  <IconButton label={label} disabled={to === undefined} onClick={() => to !== undefined && onOpen(to)}>
    <ChevronRight aria-hidden className={`size-4 ${className}`} />
  </IconButton>
);

/**
 * A non-modal dialog, so that the list stays usable. The focus moves into the dialog when it opens, and returns to
 * where it was if a control in the dialog closes it.
 */
function Beside({ onClose, steps, children }: { onClose: () => void; steps: ReactNode; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef<Element>(null);
  useEffect(() => {
    before.current = document.activeElement;
    heading.current?.focus({ preventScroll: true });
  }, []);
  const close = (): void => {
    onClose();
    if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
  };
  return (
    <div
      role="dialog"
      aria-labelledby="request-pane"
      onKeyDown={({ key }) => key === "Escape" && close()}
      className="sticky top-4 flex max-h-[calc(100dvh-2rem)] w-96 shrink-0 flex-col rounded-lg border border-line bg-surface"
    >
      <header className="flex items-center justify-between gap-3 border-b border-line px-5 py-2.5">
        <h2 id="request-pane" ref={heading} tabIndex={-1} className="font-semibold outline-none">
          Request
        </h2>
        <div className="flex items-center gap-1">
          {steps}
          <IconButton label="Close" onClick={close}>
            <X aria-hidden className="size-4" />
          </IconButton>
        </div>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard */}
      <section aria-label="Details" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto px-5 py-4">
        {children}
      </section>
    </div>
  );
}
