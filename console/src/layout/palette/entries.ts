/** What the command palette finds: entries by the words typed, and a request by its id. Pure. */
import { requestIdOf } from "../../requests/request-id.ts";

export interface Entry {
  /** Its key. */
  id: string;
  /** Under which heading it stands. */
  group: string;
  label: string;
  /** Beside the label: what it is, or where it leads. */
  hint?: string;
  /** Where it leads, below /console; or what it does. */
  to?: { path: string; search?: Record<string, string> };
  act?: () => void;
}

const SHOWN_MAX = 40;

/** All words are in what an entry says, in any order; those that begin with what was typed come first. */
export function matching(entries: Entry[], typed: string): Entry[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const found = entries
    .map((entry) => ({ entry, says: `${entry.label} ${entry.hint ?? ""} ${entry.group}`.toLowerCase() }))
    .filter(({ says }) => words.every((word) => says.includes(word)));
  const [first, rest] = [true, false].map((begins) => found.filter(({ says }) => says.startsWith(text) === begins));
  return grouped([...(first ?? []), ...(rest ?? [])].map(({ entry }) => entry)).slice(0, SHOWN_MAX);
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
