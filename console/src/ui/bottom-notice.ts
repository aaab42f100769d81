/** Moves toasts above a notice at the lower edge of the screen, so that they do not cover it. */
import type { RefCallback } from "react";

/** The CSS variable with the notice's height, which toast.tsx uses to position toasts. */
const HEIGHT = "--bottom-notice-height";

/** A ref for the notice's element. At most one such notice is on the page. */
export const keepFreeOfToasts: RefCallback<HTMLElement> = (element) => {
  if (element === null) return undefined;
  const { style } = document.documentElement;
  const sizes = new ResizeObserver(() => style.setProperty(HEIGHT, `${element.offsetHeight}px`));
  sizes.observe(element);
  return () => {
    sizes.disconnect();
    style.removeProperty(HEIGHT);
  };
};
