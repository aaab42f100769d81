/**
 * Locks the page's scrolling while a Radix dialog is open, in place of the package react-remove-scroll. That package
 * creates a <style> element at run time, which a strict Content-Security-Policy forbids. This component sets the style
 * of the <html> element instead.
 */
import { type ComponentType, type ReactNode, useEffect } from "react";

let locks = 0;

interface Props {
  as?: ComponentType<{ children: ReactNode }>;
  children: ReactNode;
}

export function RemoveScroll({ as: Container, children }: Props): ReactNode {
  useEffect(() => {
    const { style, clientWidth } = document.documentElement;
    locks += 1;
    if (locks === 1) {
      // Reserves the scroll bar's width, so that content does not move.
      style.paddingRight = `${window.innerWidth - clientWidth}px`;
      style.overflow = "hidden";
    }
    return () => {
      locks -= 1;
      if (locks === 0) style.overflow = style.paddingRight = "";
    };
  }, []);
  return Container === undefined ? <div>{children}</div> : <Container>{children}</Container>;
}
