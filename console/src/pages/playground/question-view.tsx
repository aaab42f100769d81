/** The user's message, to read or edit. */

import { useState } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Pencil } from "../../ui/icons.tsx";

interface Props {
  question: string;
  /** Called with the edited question; undefined while an answer is being generated. */
  onEdit: ((question: string) => void) | undefined;
  /** Whether later exchanges follow. Editing the question drops them. */
  followed: boolean;
}

export function QuestionView({ question, onEdit, followed }: Props) {
  const [draft, setDraft] = useState<string>();
  if (draft !== undefined && onEdit !== undefined) {
    return (
      <form
        className="flex flex-col gap-2 rounded-xl bg-accent-soft p-3"
        onSubmit={(event) => {
          event.preventDefault();
          setDraft(undefined);
          onEdit(draft);
        }}
      >
        <textarea
          aria-label="Edit message"
          // biome-ignore lint/a11y/noAutofocus: it takes the place of the button that was pressed
          autoFocus
          rows={Math.min(12, draft.split("\n").length + 1)}
          value={draft}
          onChange={({ target }) => setDraft(target.value)}
          onKeyDown={({ key }) => key === "Escape" && setDraft(undefined)}
          className="w-full resize-y rounded-md border border-line-strong/60 bg-surface px-3 py-2 text-base leading-relaxed sm:text-sm"
        />
        <div className="flex flex-wrap items-center justify-end gap-2">
          {followed && <p className="mr-auto text-xs text-ink-soft">Sending removes all messages after this one.</p>}
          <Button size="small" onClick={() => setDraft(undefined)}>
            Cancel
          </Button>
          <Button type="submit" size="small" look="primary" disabled={draft.trim() === ""}>
            Send
          </Button>
        </div>
      </form>
    );
  }
  return (
    <div className="ml-auto flex max-w-[85%] flex-col items-end">
      <div className="max-w-full rounded-xl rounded-br-sm bg-accent-soft px-3.5 py-2.5">
        <h2 className="sr-only">You</h2>
        <p className="break-words whitespace-pre-wrap">{question}</p>
      </div>
      <div className="flex">
        <CopyButton text={question} label="Copy the message" />
        {onEdit !== undefined && (
          <IconButton label="Edit message" onClick={() => setDraft(question)}>
            <Pencil aria-hidden className="size-4" />
          </IconButton>
        )}
      </div>
    </div>
  );
}
