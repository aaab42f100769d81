/**
 * The input for request filters. Completes typed text, and shows entered filters as chips. A request's ID opens the
 * request.
 */
import { type KeyboardEvent, useId, useRef, useState } from "react";
import {
  type FilterTerm,
  formatFilter,
  formatTerm,
  type InvalidWord,
  type ParsedFilter,
  parseFilter,
} from "../../requests/filter-text.ts";
import { findRequestId } from "../../requests/request-id.ts";
import { Search, X } from "../../ui/icons.tsx";
import { joinClasses } from "../../ui/join-classes.ts";
import {
  applyCompletion,
  type FilterCompletion,
  type KnownFilterValues,
  suggestCompletions,
} from "./filter-completions.ts";

interface Props {
  read: ParsedFilter;
  /** The invalid parts of the filter in the URL. */
  wrong: InvalidWord[];
  known: KnownFilterValues;
  /** The display text of a filter term, such as a key's name instead of its ID. */
  nameOf: (term: FilterTerm) => string;
  onChange: (text: string) => void;
  onFound: (request: string) => void;
}

export function FilterField({ read: { terms, wrong: unread }, wrong, known, nameOf, onChange, onFound }: Props) {
  const [draft, setDraft] = useState(unread.map(({ word }) => word).join(" "));
  const [refused, setRefused] = useState<InvalidWord[]>([]);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const completions = open ? suggestCompletions(draft, known) : [];
  const problems = refused.length > 0 ? refused : wrong;

  const write = (text: string): void => {
    setDraft(text);
    setRefused([]);
    setActive(-1);
    setOpen(true);
  };
  /** Adds the typed terms to the chips, or shows what is wrong with them. */
  const enter = (text: string): void => {
    const { terms: more, wrong: words } = parseFilter(text);
    setRefused(words);
    setActive(-1);
    if (words.length > 0) return;
    setDraft("");
    onChange(
      formatFilter([...terms, ...more.filter((term) => !terms.some((one) => formatTerm(one) === formatTerm(term)))]),
    );
  };
  const take = (completion: FilterCompletion): void => {
    const text = applyCompletion(draft, completion);
    if (completion.isWhole) enter(text);
    else write(text);
    input.current?.focus();
  };
  const without = (place: number): void => onChange(formatFilter(terms.toSpliced(place, 1)));
  const edit = (place: number): void => {
    write(`${draft === "" ? "" : `${draft} `}${formatTerm(terms[place] as FilterTerm)}`);
    without(place);
    input.current?.focus();
  };
  const press = (event: KeyboardEvent<HTMLInputElement>): void => {
    const { key } = event;
    const chosen = completions[active];
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const { length } = completions;
      if (length > 0) setActive((active + (key === "ArrowDown" ? 1 : active < 0 ? 0 : -1) + length) % length);
    } else if (key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
    } else if ((key === "Enter" || key === "Tab") && chosen !== undefined) {
      event.preventDefault();
      take(chosen);
    } else if (key === "Enter") {
      event.preventDefault();
      enter(draft);
    } else if (key === " " && isWhole(draft)) {
      event.preventDefault();
      enter(draft);
    } else if (key === "Backspace" && draft === "" && terms.length > 0) {
      event.preventDefault();
      edit(terms.length - 1);
    }
  };
  return (
    <div className="relative min-w-0 flex-1 basis-80">
      <div
        className={joinClasses(
          "flex min-h-9 flex-wrap items-center gap-1.5 rounded-md border bg-surface px-2 py-1 focus-within:outline-2 focus-within:outline-offset-1 focus-within:outline-accent",
          problems.length > 0 ? "border-bad" : "border-line-strong/60",
        )}
      >
        <Search aria-hidden className="ml-1 size-4 shrink-0 text-ink-soft" />
        <Chips terms={terms} nameOf={nameOf} onEdit={edit} onRemove={without} />
        <input
          ref={input}
          role="combobox"
          aria-label="Filter"
          aria-expanded={completions.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
          aria-invalid={problems.length > 0 || undefined}
          aria-describedby={problems.length > 0 ? `${id}-note` : undefined}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          maxLength={1000}
          value={draft}
          placeholder={terms.length === 0 ? "model:tiny-3b cost>0.01, or a request ID" : "Add a filter"}
          className="h-7 min-w-24 flex-1 bg-transparent text-sm outline-none placeholder:text-ink-soft/80"
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={press}
          onChange={({ target }) => {
            const found = findRequestId(target.value);
            if (found === undefined) return write(target.value);
            setDraft("");
            onFound(found);
          }}
        />
      </div>
      <Completions {...{ id, completions, active }} onTake={take} />
      <div id={`${id}-note`} role="alert" className="text-xs text-bad">
        {problems.map(({ word, rule }) => (
          <p key={word} className="mt-1 wrap-anywhere">
            <code className="font-mono">{word}</code>: {rule}.
          </p>
        ))}
      </div>
    </div>
  );
}

/** Whether the draft is a complete term. If so, typing a space adds it, unless the space is within quotes. */
function isWhole(draft: string): boolean {
  const { terms, wrong } = parseFilter(draft);
  return terms.length > 0 && wrong.length === 0;
}

interface ChipsProps {
  terms: FilterTerm[];
  nameOf: (term: FilterTerm) => string;
  onEdit: (place: number) => void;
  onRemove: (place: number) => void;
}

const Chips = ({ terms, nameOf, onEdit, onRemove }: ChipsProps) => (
  <ul aria-label="Filters" className="contents">
    {terms.map((term, place) => (
      <li
        key={formatTerm(term)}
        className="inline-flex h-6 max-w-full min-w-0 items-center rounded-md bg-accent-soft text-xs font-medium text-accent"
      >
        <button
          type="button"
          title="Edit this filter"
          className="min-w-0 truncate rounded-l-md py-1 pl-2 hover:underline"
          onClick={() => onEdit(place)}
        >
          {nameOf(term)}
        </button>
        <button
          type="button"
          aria-label={`Remove ${nameOf(term)}`}
          className="flex size-6 shrink-0 items-center justify-center rounded-r-md hover:bg-sunken"
          onClick={() => onRemove(place)}
        >
          <X aria-hidden className="size-3" />
        </button>
      </li>
    ))}
  </ul>
);

interface CompletionsProps {
  id: string;
  completions: FilterCompletion[];
  active: number;
  onTake: (completion: FilterCompletion) => void;
}

const Completions = ({ id, completions, active, onTake }: CompletionsProps) => (
  <div
    id={`${id}-list`}
    role="listbox"
    aria-label="Completions"
    className={joinClasses(
      "absolute top-full left-0 z-30 mt-1 max-h-72 w-full max-w-md overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-lg",
      completions.length === 0 && "hidden",
    )}
  >
    {completions.map((completion, place) => (
      // The input handles all keys and names the active option, so the options need no key handlers.
      // biome-ignore lint/a11y/useKeyWithClickEvents: see above
      // biome-ignore lint/a11y/useFocusableInteractive: see above
      <div
        key={completion.word}
        id={`${id}-${place}`}
        role="option"
        aria-selected={place === active}
        className="flex cursor-pointer items-baseline justify-between gap-3 rounded-md px-2.5 py-1.5 hover:bg-sunken aria-selected:bg-sunken"
        onPointerDown={(event) => event.preventDefault()}
        onClick={() => onTake(completion)}
      >
        <code className="min-w-0 truncate font-mono text-xs">{completion.word}</code>
        <span className="shrink-0 text-xs text-ink-soft max-sm:hidden">{completion.about}</span>
      </div>
    ))}
  </div>
);
