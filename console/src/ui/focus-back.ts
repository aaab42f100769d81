/** Gives the focus back to where it was before a dialog opened. Radix does so only for dialogs with a button of their own. */
import { useRef } from "react";

/** `<Dialog.Content {...useFocusBack()}>`; `intoField`: what is to be filled in has the focus first. */
export function useFocusBack({ intoField = false } = {}) {
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

/** An item of a menu is gone when the dialog closes; the menu's button is still there. */
function lastingElement(element: Element | null): HTMLElement | null {
  const button = element?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  return button == null ? (element as HTMLElement | null) : document.getElementById(button);
}
