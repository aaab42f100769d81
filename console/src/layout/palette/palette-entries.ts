/** The command palette's entries: pages and objects, found by words, and requests, found by ID. Pure. */
import { findRequestId } from "../../requests/request-id.ts";

export interface PaletteEntry {
  /** The React key of the entry. */
  id: string;
  /** The heading above the entry. */
  group: string;
  label: string;
  /** Text beside the label: the kind of the entry, or its destination. */
  hint?: string;
  /** Synonyms, which are not shown. */
  also?: string | undefined;
  /** The destination below /console. An entry without one runs an action. */
  to?: { path: string; search?: Record<string, string> };
  act?: () => void;
}

const SHOWN_MAX = 40;

/**
 * Finds entries whose label, hint, heading or synonyms contain all typed words in any order. Order: label or heading
 * begins with the text, then other matches in visible words, then synonyms that begin with a word.
 */
export function findMatchingEntries(entries: PaletteEntry[], typed: string): PaletteEntry[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const ranked = entries.map((entry) => ({ entry, rank: rankOf(entry, text, words) }));
  const found = [0, 1, 2].flatMap((rank) => ranked.filter((one) => one.rank === rank));
  return grouped(found.map(({ entry }) => entry)).slice(0, SHOWN_MAX);
}

/** Returns the rank of a match, 0 being the best; undefined if the entry does not match. */
function rankOf(
  { label, hint = "", group, also = "" }: PaletteEntry,
  text: string,
  words: string[],
): number | undefined {
  const says = `${label} ${hint} ${group}`.toLowerCase();
  if (words.every((word) => says.includes(word))) {
    return says.startsWith(text) || group.toLowerCase().startsWith(text) ? 0 : 1;
  }
  return words.every((word) => says.includes(word) || ` ${also}`.includes(` ${word}`)) ? 2 : undefined;
}

/** Groups entries with the same heading, in the order in which headings first appear. */
function grouped(entries: PaletteEntry[]): PaletteEntry[] {
  return [...Map.groupBy(entries, ({ group }) => group).values()].flat();
}

/** An entry that opens a request by its request ID or by the ID in its response, as pasted from logs and errors. */
export function findRequestEntries(
  typed: string,
  { builds, operates }: { builds: boolean; operates: boolean },
): PaletteEntry[] {
  const id = findRequestId(typed);
  if (id === undefined) return [];
  const entry = (path: string, hint: string): PaletteEntry => ({
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

/** The path of the object's own page if there is one (`/models/$id`), otherwise its list with the ID as a parameter. */
export function chooseDestination(
  paths: string[],
  list: string,
  name: string,
  id: string,
): NonNullable<PaletteEntry["to"]> {
  const own = paths.find((path) => new RegExp(`^${list}/\\$\\w+$`).test(path));
  if (own === undefined) return { path: list, search: { [name]: id } };
  return { path: `${list}/${encodeURIComponent(id)}` };
}
