/** Searches the index `search.json`, in the browser and in tests. */
import MiniSearch from "minisearch";

/** A search result: the part of a page below one heading, or one operation of an API. */
export interface SearchEntry {
  url: string;
  heading: string;
  /** The entry's position in the navigation, such as `Operators / NATS`. */
  place: string;
  text: string;
  /** Ranked lower than other entries: internal APIs, sources of examples, the changelog. */
  minor?: true;
}

interface Found {
  url: string;
  heading: string;
  place: string;
  /** The text around the first match, split into matching and other pieces. */
  snippet: Piece[];
}

interface Piece {
  text: string;
  isMatch: boolean;
}

const RESULTS_MAX = 10;
const SNIPPET_CHARS = 140;
const MINOR_WEIGHT = 0.2;
/** Shorter words must match without typos, because one changed letter makes them another word. */
const FUZZY_CHARS_MIN = 5;

export function openSearch(entries: SearchEntry[]): (words: string) => Found[] {
  const index = new MiniSearch<SearchEntry & { id: number }>({
    fields: ["heading", "place", "text"],
    searchOptions: {
      prefix: true,
      fuzzy: (term) => (term.length >= FUZZY_CHARS_MIN ? 0.2 : false),
      boost: { heading: 5, place: 2 },
      boostDocument: (id) => (entries[id]?.minor ? MINOR_WEIGHT : 1),
    },
  });
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));
  return (words) => {
    const all = index.search(words, { combineWith: "AND" });
    const found = all.length > 0 ? all : index.search(words, { combineWith: "OR" });
    return found.slice(0, RESULTS_MAX).flatMap(({ id, terms }) => {
      const entry = entries[id];
      if (entry === undefined) return [];
      const { url, heading, place, text } = entry;
      return { url, heading, place, snippet: extractSnippet(text, terms) };
    });
  };
}

/** Returns the text around the first match, starting at a word a little before it. */
export function extractSnippet(text: string, terms: string[]): Piece[] {
  // If one term begins with another, the longer one must be tried first.
  const longest = terms.toSorted((a, b) => b.length - a.length).map((term) => RegExp.escape(term));
  const matches = new RegExp(`(${longest.join("|")})`, "iu");
  const first = text.search(matches);
  const from = first < 50 ? 0 : text.indexOf(" ", first - 40) + 1;
  const cut = text.slice(from, from + SNIPPET_CHARS);
  const end = from + cut.length < text.length ? "…" : "";
  const pieces = cut.split(new RegExp(matches, "giu")).map((piece, i) => ({ text: piece, isMatch: i % 2 === 1 }));
  return [{ text: from > 0 ? "…" : "", isMatch: false }, ...pieces, { text: end, isMatch: false }].filter(
    (piece) => piece.text !== "",
  );
}
