/** A notice at the lower edge of the screen keeps its height free of toasts. */
import type { RefCallback } from "react";

/** Read by the toasts' place (toast.tsx). */
const HEIGHT = "--bottom-notice-height";

/** For the notice's element. There is at most one. */
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
