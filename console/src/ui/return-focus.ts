/**
 * Returns the focus to its previous element when a dialog closes. Radix does so only for dialogs with their own trigger
 * button.
 */
import { useRef } from "react";

/** Props for a dialog: `<Dialog.Content {...useReturnFocus()}>`. `intoField`: focuses the first input on opening. */
export function useReturnFocus({ intoField = false } = {}) {
  const before = useRef<HTMLElement>(null);
  return {
    onOpenAutoFocus: (event: Event): void => {
      before.current = lastingElement(document.activeElement);
      const field = intoField && (event.currentTarget as Element).querySelector<HTMLElement>("input, select, textarea");
      if (!field) return;
      event.preventDefault();
      field.focus();
    },
    onCloseAutoFocus: (event: Event): void => {
      event.preventDefault();
      before.current?.focus();
    },
  };
}

/** A menu's item no longer exists when its dialog closes, so the menu's button gets the focus. */
function lastingElement(element: Element | null): HTMLElement | null {
  const button = element?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  return button == null ? (element as HTMLElement | null) : document.getElementById(button);
}
