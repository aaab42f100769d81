/**
 * Warns before a dialog or the page closes while a text that is shown only once was neither copied nor confirmed.
 * `Dialog` provides this for every such text that it contains.
 */
import { useBlocker } from "@tanstack/react-router";
import { createContext, use, useEffect, useState } from "react";

/** Tells the dialog around it what is not saved yet, for example "key". */
export const UnsavedTextContext = createContext<(noun: string | undefined) => void>(() => {});

/** Returns a function to call once the text was copied. Outside of a dialog, the page itself keeps the text. */
export function useShownOnce(noun: string): () => void {
  const setUnsaved = use(UnsavedTextContext);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    setUnsaved(isCopied ? undefined : noun);
    return () => setUnsaved(undefined);
  }, [isCopied, noun, setUnsaved]);
  return () => setCopied(true);
}

/** Stops navigation and asks before the window closes. Returns how to continue or stay while a navigation is stopped. */
export function useBlockedNavigation(): { proceed: () => void; reset: () => void } | undefined {
  const blocker = useBlocker({ shouldBlockFn: () => true, withResolver: true });
  return blocker.status === "blocked" ? blocker : undefined;
}
