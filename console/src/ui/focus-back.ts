/** Gives the focus back to where it was before a dialog opened. Radix does so only for dialogs with a button of their own. */
import { useRef } from "react";

/** `<Dialog.Content {...useFocusBack()}>` */
export function useFocusBack() {
  const before = useRef<HTMLElement>(null);
  return {
    onOpenAutoFocus: (): void => {
      before.current = lastingElement(document.activeElement);
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
