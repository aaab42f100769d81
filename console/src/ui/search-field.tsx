/** A search input that starts the search when the user pauses. */

import { useEffect, useEffectEvent } from "react";
import { useDebounced } from "./debounce.ts";
import { INPUT_CLASSES } from "./form-fields.tsx";
import { Search } from "./icons.tsx";
import { joinClasses } from "./join-classes.ts";

interface Props {
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  /**
   * Called with the text after a pause in typing. The callback of the latest render is called, because other filters
   * may change during the pause.
   */
  onPause: (text: string) => void;
}

export function SearchField({ label, placeholder, text, onText, onPause }: Props) {
  const lookFor = useEffectEvent(onPause);
  const paused = useDebounced(text);
  useEffect(() => lookFor(paused.trim()), [paused]);
  return (
    <div className="relative min-w-0 flex-1 basis-56">
      <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-ink-soft" />
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={text}
        maxLength={200}
        onChange={({ target }) => onText(target.value)}
        className={joinClasses(INPUT_CLASSES, "pl-9")}
      />
    </div>
  );
}
