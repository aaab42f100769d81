/**
 * Holds new secrets that are needed once more: an API key for a first call, a host token for a machine's login. They
 * stay in memory while the user opens other pages. The browser warns before the window is closed.
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

export function stashSecret(of: string, secret: string): void {
  kept.set(of, secret);
  changed();
}

/** Discards a secret that was used or is not needed any more. */
export function clearStashedSecret(of: string): void {
  if (kept.delete(of)) changed();
}

export const stashedSecret = (of: string): string | undefined => kept.get(of);

const subscribe = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** `of`: the owner's ID and the purpose, for example `acc_… key`. */
export const useStashedSecret = (of: string): string | undefined => useSyncExternalStore(subscribe, () => kept.get(of));
