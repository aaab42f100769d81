/**
 * Warns before a dialog or the page closes while a text that is shown only once was neither copied nor confirmed.
 * `Dialog` provides this for every such text that it contains.
 */
import { useBlocker } from "@tanstack/react-router";
import { createContext, use, useEffect, useState } from "react";

/** Reports to the surrounding dialog which text is not saved yet, for example "key". */
export const UnsavedTextContext = createContext<(noun: string | undefined) => void>(() => {});

/**
 * Returns a function to call once the text was copied. Outside of a dialog there is no warning, because the page keeps
 * showing the text.
 */
export function useShownOnce(noun: string): () => void {
  const setUnsaved = use(UnsavedTextContext);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    setUnsaved(isCopied ? undefined : noun);
    return () => setUnsaved(undefined);
  }, [isCopied, noun, setUnsaved]);
  return () => setCopied(true);
}

/**
 * Blocks navigation, and asks before the window closes. While a navigation is blocked, returns `proceed` (continue it)
 * and `reset` (stay on the page).
 */
export function useBlockedNavigation(): { proceed: () => void; reset: () => void } | undefined {
  const blocker = useBlocker({ shouldBlockFn: () => true, withResolver: true });
  return blocker.status === "blocked" ? blocker : undefined;
}
