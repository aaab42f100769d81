/**
 * Secrets that were shown once and are still needed: a first call to make with a key, a machine to log in with a token. They stay in this
 * page's memory, and nowhere else, whatever is opened meanwhile; the browser warns before the page itself is left.
 */
import { useSyncExternalStore } from "react";

type Listener = () => void;

const kept = new Map<string, string>();
const listeners = new Set<Listener>();

function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

function changed(): void {
  if (kept.size > 0) addEventListener("beforeunload", warn);
  else removeEventListener("beforeunload", warn);
  for (const listener of listeners) listener();
}

export function keepSecret(of: string, secret: string): void {
  kept.set(of, secret);
  changed();
}

/** It was used, or is not needed any more. */
export function forgetSecret(of: string): void {
  if (kept.delete(of)) changed();
}

export const keptSecret = (of: string): string | undefined => kept.get(of);

const subscribe = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** `of`: whose it is and what for: `acc_… key`. */
export const useKeptSecret = (of: string): string | undefined => useSyncExternalStore(subscribe, () => kept.get(of));
