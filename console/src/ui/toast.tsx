/** Short notices at the edge of the screen, announced by screen readers: `toast("Key revoked")`. */

import { Toast as Radix } from "radix-ui";
import { useSyncExternalStore } from "react";
import { errorMessage } from "../api/api-fault.ts";
import { IconButton } from "./button.tsx";
import { CircleAlert, CircleCheck, X } from "./icons.tsx";

interface News {
  id: number;
  text: string;
  tone: "good" | "bad";
}

const SHOWN_MS = 5_000;
const SHOWN_MAX = 3;

let all: News[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: News[]): void {
  all = next;
  for (const listener of listeners) listener();
}

export function toast(text: string, tone: News["tone"] = "good"): void {
  change([...all, { id: nextId++, text, tone }].slice(-SHOWN_MAX));
}

export const toastError = (error: unknown): void => toast(errorMessage(error), "bad");

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => all);
  return (
    <Radix.Provider duration={SHOWN_MS} swipeDirection="right">
      {shown.map(({ id, text, tone }) => {
        const Icon = tone === "good" ? CircleCheck : CircleAlert;
        return (
          <Radix.Root
            key={id}
            type={tone === "bad" ? "foreground" : "background"}
            onOpenChange={(open) => !open && change(all.filter((news) => news.id !== id))}
            className="flex animate-rise items-center gap-2.5 rounded-lg border border-line bg-raised py-2 pr-2 pl-3.5 shadow-lg"
          >
            <Icon aria-hidden className={tone === "good" ? "size-4 shrink-0 text-good" : "size-4 shrink-0 text-bad"} />
            <Radix.Title className="min-w-0 flex-1 wrap-anywhere">{text}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label="Dismiss">
                <X aria-hidden className="size-4" />
              </IconButton>
            </Radix.Close>
          </Radix.Root>
        );
      })}
      <Radix.Viewport className="fixed right-3 bottom-[calc(0.75rem+var(--bottom-notice-height,0px))] z-60 flex w-[calc(100vw-1.5rem)] max-w-sm flex-col gap-2 outline-none" />
    </Radix.Provider>
  );
}
