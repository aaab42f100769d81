/** The entries of the command palette: pages and things by words, and a request by its id. Pure. */
import { requestIdOf } from "../../requests/request-id.ts";

export interface Entry {
  /** Its key. */
  id: string;
  /** Under which heading it stands. */
  group: string;
  label: string;
  /** Beside the label: what it is, or where it leads. */
  hint?: string;
  /** Other words for it, which are not shown. */
  also?: string | undefined;
  /** Where it leads, below /console; or what it does. */
  to?: { path: string; search?: Record<string, string> };
  act?: () => void;
}

const SHOWN_MAX = 40;

/**
 * All words are in what an entry says or is also called, in any order. Those that begin with what was typed, or whose heading does, come
 * first, then those that say it, then those that are only also called so, by the beginning of a word.
 */
export function matching(entries: Entry[], typed: string): Entry[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const ranked = entries.map((entry) => ({ entry, rank: rankOf(entry, text, words) }));
  const found = [0, 1, 2].flatMap((rank) => ranked.filter((one) => one.rank === rank));
  return grouped(found.map(({ entry }) => entry)).slice(0, SHOWN_MAX);
}

/** 0 is best; undefined where it is not meant. */
function rankOf({ label, hint = "", group, also = "" }: Entry, text: string, words: string[]): number | undefined {
  const says = `${label} ${hint} ${group}`.toLowerCase();
  if (words.every((word) => says.includes(word))) {
    return says.startsWith(text) || group.toLowerCase().startsWith(text) ? 0 : 1;
  }
  return words.every((word) => says.includes(word) || ` ${also}`.includes(` ${word}`)) ? 2 : undefined;
}

/** What belongs under one heading stands together, in the order in which headings first appear. */
function grouped(entries: Entry[]): Entry[] {
  return [...Map.groupBy(entries, ({ group }) => group).values()].flat();
}

/** A request's id or its answer's, pasted as it is in logs and errors, opens it. */
export function requestEntry(typed: string, { builds, operates }: { builds: boolean; operates: boolean }): Entry[] {
  const id = requestIdOf(typed);
  if (id === undefined) return [];
  const entry = (path: string, hint: string): Entry => ({
    id: path,
    group: "Request",
    label: `Open ${id}`,
    hint,
    to: { path, search: { request: id } },
  });
  return [
    ...(builds ? [entry("/requests", "in your requests")] : []),
    ...(operates ? [entry("/operator/requests", "of any account")] : []),
  ];
}

/** One thing's own page where there is one (`/models/$id`), else the list of them with the thing in its address. */
export function placeOf(paths: string[], list: string, name: string, id: string): NonNullable<Entry["to"]> {
  const own = paths.find((path) => new RegExp(`^${list}/\\$\\w+$`).test(path));
  if (own === undefined) return { path: list, search: { [name]: id } };
  return { path: `${list}/${encodeURIComponent(id)}` };
}
