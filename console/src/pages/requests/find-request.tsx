/** An input that opens a request by its request ID or by the ID in its response. */

import { useId, useState } from "react";
import { findRequestId } from "../../requests/request-id.ts";
import { INPUT_CLASSES } from "../../ui/form-fields.tsx";
import { Search } from "../../ui/icons.tsx";
import { joinClasses } from "../../ui/join-classes.ts";

export function FindRequest({ onFound }: { onFound: (request: string) => void }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const note = useId();
  const open = (typed: string): boolean => {
    const id = findRequestId(typed);
    if (id === undefined) return false;
    setText("");
    onFound(id);
    return true;
  };
  return (
    <form
      className="relative min-w-0 flex-1 basis-64"
      onSubmit={(event) => {
        event.preventDefault();
        setWrong(!open(text));
      }}
    >
      <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-ink-soft" />
      <input
        type="search"
        aria-label="Find a request by ID"
        placeholder="req_… or chatcmpl-…"
        value={text}
        maxLength={200}
        aria-invalid={wrong || undefined}
        aria-describedby={wrong ? note : undefined}
        className={joinClasses(INPUT_CLASSES, "pl-9")}
        onChange={({ target }) => {
          setWrong(false);
          // A complete ID opens the request without Enter.
          if (!open(target.value)) setText(target.value);
        }}
      />
      {wrong && (
        <p id={note} role="alert" className="mt-1 text-xs text-bad">
          Enter a request ID (req_…) or a completion ID (chatcmpl-…).
        </p>
      )}
    </form>
  );
}
