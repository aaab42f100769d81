/**
 * Saved views and columns of the request list, stored only in this browser, with limits. Pure except for the storage.
 */
import { extractView, type RequestsView, readRequestsSearch } from "./requests-search.ts";

interface NamedView {
  name: string;
  view: RequestsView;
}

export const VIEW_NAME_CHARS_MAX = 60;
const VIEWS_MAX = 30;
const CHARS_MAX = 100_000;

type Store = Pick<Storage, "getItem" | "setItem">;
type What = "views" | "columns";
const storedAs = (what: What, person: string): string => `tollgate.request-${what}.${person}`;

/** Returns an empty list if nothing is stored or the browser blocks its storage. */
function read(store: () => Store, what: What, person: string): unknown[] {
  try {
    const kept: unknown = JSON.parse(store().getItem(storedAs(what, person)) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    // Blocked storage or invalid JSON counts as an empty list. Saving reports the problem.
    return [];
  }
}

/** Throws an error with a message, and changes nothing, if the browser refuses. */
function write(store: () => Store, what: What, person: string, kept: unknown[]): void {
  const text = JSON.stringify(kept);
  if (text.length > CHARS_MAX) throw new Error("Your views exceed the storage limit. Delete one first.");
  try {
    store().setItem(storedAs(what, person), text);
  } catch {
    throw new Error("Not saved: this browser's storage is full or blocked.");
  }
}

export function readViews(store: () => Store, person: string): NamedView[] {
  return read(store, "views", person)
    .slice(0, VIEWS_MAX)
    .flatMap((one) => {
      const { name, view } = (one ?? {}) as Partial<NamedView>;
      if (typeof name !== "string" || typeof view !== "object" || view === null) return [];
      return [{ name: name.slice(0, VIEW_NAME_CHARS_MAX), view: extractView(readRequestsSearch({ ...view })) }];
    });
}

/** Saves a view, replacing one with the same name. Returns all views, sorted by name. */
export function saveView(store: () => Store, person: string, { name, view }: NamedView): NamedView[] {
  const others = readViews(store, person).filter((one) => one.name !== name);
  if (others.length >= VIEWS_MAX)
    throw new Error(`Limit reached: you already have ${VIEWS_MAX} views. Delete one first.`);
  const views = [...others, { name, view }].sort((a, b) => a.name.localeCompare(b.name));
  write(store, "views", person, views);
  return views;
}

export function deleteView(store: () => Store, person: string, name: string): NamedView[] {
  const views = readViews(store, person).filter((one) => one.name !== name);
  write(store, "views", person, views);
  return views;
}

/** Returns undefined if the person uses the default columns. */
export function readColumns(store: () => Store, person: string, known: readonly string[]): string[] | undefined {
  const kept = read(store, "columns", person).filter((one) => known.some((title) => title === one)) as string[];
  return kept.length === 0 ? undefined : kept;
}

export const writeColumns = (store: () => Store, person: string, columns: readonly string[] | undefined): void =>
  write(store, "columns", person, [...(columns ?? [])]);
