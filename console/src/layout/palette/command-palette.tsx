/** The command palette (Ctrl-K or ⌘K): one input that leads to any page, key, model, request or account. */
import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "radix-ui";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import type { Me } from "../../api/answer-types.ts";
import { findChosenAccount } from "../../api/chosen-account.ts";
import { IconButton } from "../../ui/button.tsx";
import { Search } from "../../ui/icons.tsx";
import { useReturnFocus } from "../../ui/return-focus.ts";
import { findMatchingEntries, findRequestEntries, type PaletteEntry } from "./palette-entries.ts";
import { usePaletteEntries } from "./use-palette-entries.ts";

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function usePalette(): { open: boolean; setOpen: (open: boolean) => void } {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      setOpen((now) => !now);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return { open, setOpen };
}

/** A wide button that shows the shortcut, or only an icon on narrow screens. */
export function PaletteButton({ onOpen, narrow = false }: { onOpen: () => void; narrow?: boolean }) {
  if (narrow) {
    return (
      <IconButton label="Search" aria-keyshortcuts="Control+K Meta+K" onClick={onOpen}>
        <Search aria-hidden className="size-4" />
      </IconButton>
    );
  }
  return (
    <button
      type="button"
      aria-keyshortcuts="Control+K Meta+K"
      onClick={onOpen}
      className="mb-4 flex h-9 w-full shrink-0 items-center gap-2 rounded-md border border-line bg-ground px-2.5 text-ink-soft transition-colors hover:border-line-strong hover:text-ink"
    >
      <Search aria-hidden className="size-4" />
      Search
      <kbd className="ml-auto rounded-sm border border-line bg-surface px-1.5 py-0.5 font-sans text-xs">
        {IS_MAC ? "⌘K" : "Ctrl K"}
      </kbd>
    </button>
  );
}

export function Palette({ me, open, onClose }: { me: Me; open: boolean; onClose: () => void }) {
  const focusBack = useReturnFocus({ intoField: true });
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-50 animate-fade-in bg-shade" />
        <Dialog.Content
          {...focusBack}
          aria-describedby={undefined}
          className="fixed inset-x-3 top-[10vh] z-50 mx-auto flex max-h-[76vh] max-w-xl animate-rise flex-col overflow-hidden rounded-xl border border-line bg-raised shadow-xl outline-none"
        >
          <Dialog.Title className="sr-only">Search</Dialog.Title>
          <Finder me={me} onClose={onClose} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Finder({ me, onClose }: { me: Me; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [place, setPlace] = useState(0);
  const listId = useId();
  const navigate = useNavigate();
  const entries = usePaletteEntries(me);
  const reach = { builds: findChosenAccount("builder", me.accounts) !== undefined, operates: me.identity.operator };
  const found = [...findRequestEntries(typed, reach), ...findMatchingEntries(entries, typed)];
  const current = found[Math.min(place, found.length - 1)];
  const optionId = ({ id }: PaletteEntry): string => `${listId} ${id}`.replaceAll(/\s/g, "-");

  const run = ({ to, act }: PaletteEntry): void => {
    onClose();
    act?.();
    if (to !== undefined)
      void navigate({ to: to.path, ...(to.search !== undefined && { search: to.search as never }) });
  };
  const press = (event: KeyboardEvent): void => {
    const last = found.length - 1;
    const moves: Record<string, number> = {
      ArrowDown: place >= last ? 0 : place + 1,
      ArrowUp: place <= 0 ? last : place - 1,
      Home: 0,
      End: last,
    };
    const next = moves[event.key];
    if (next !== undefined) setPlace(Math.max(0, next));
    else if (event.key === "Enter" && current !== undefined && !event.nativeEvent.isComposing) run(current);
    else return;
    event.preventDefault();
  };

  return (
    <>
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Search aria-hidden className="size-4 shrink-0 text-ink-soft" />
        <input
          role="combobox"
          aria-label="Search pages, keys, models, requests and accounts"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={current && optionId(current)}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder="Page, key, model, account or req_…"
          value={typed}
          onChange={({ target }) => {
            setTyped(target.value);
            setPlace(0);
          }}
          onKeyDown={press}
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-ink-soft sm:text-sm"
        />
        <kbd className="hidden rounded-sm border border-line px-1.5 py-0.5 font-sans text-xs text-ink-soft sm:block">
          Esc
        </kbd>
      </div>
      <div id={listId} role="listbox" aria-label="Results" tabIndex={-1} className="overflow-y-auto p-2 outline-none">
        {[...Map.groupBy(found, ({ group }) => group)].map(([group, all]) => (
          // biome-ignore lint/a11y/useSemanticElements: a list's options are grouped by a role; there is no element for it
          <div key={group} role="group" aria-label={group} className="pb-2">
            <p aria-hidden className="px-2 pt-1 pb-1 text-xs font-medium text-ink-soft">
              {group}
            </p>
            {all.map((entry) => (
              <Option
                key={entry.id}
                id={optionId(entry)}
                entry={entry}
                chosen={entry === current}
                onPoint={() => setPlace(found.indexOf(entry))}
                onRun={() => run(entry)}
              />
            ))}
          </div>
        ))}
      </div>
      <p role="status" className={found.length === 0 ? "px-4 pb-5 text-center text-ink-soft" : "sr-only"}>
        {found.length === 0 ? "Nothing found" : `${found.length} found`}
      </p>
    </>
  );
}

interface OptionProps {
  id: string;
  entry: PaletteEntry;
  chosen: boolean;
  onPoint: () => void;
  onRun: () => void;
}

function Option({ id, entry: { label, hint }, chosen, onPoint, onRun }: OptionProps) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (chosen) element.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the field's, which keeps the focus
    <div
      ref={element}
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      onPointerMove={onPoint}
      onClick={onRun}
      className="flex cursor-pointer items-baseline gap-3 rounded-md px-2 py-2 aria-selected:bg-accent-soft aria-selected:text-accent"
    >
      <span className="min-w-0 truncate">{label}</span>
      {hint !== undefined && <span className="ml-auto min-w-0 truncate text-xs text-ink-soft">{hint}</span>}
    </div>
  );
}
