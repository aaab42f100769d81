/** The pages that are measured, and what has to be there before somebody can use them. */

/** In the page's own terms: so many elements, each with this text where one is given. */
export interface Wanted {
  css: string;
  least?: number;
  text?: string;
}

export interface MeasuredPage {
  name: string;
  path: string;
  who: "nobody" | "builder" | "operator";
  /** With an empty cache in a fresh profile, or after a first visit with the same one. */
  cache: "cold" | "warm";
  wanted: Wanted[];
}

const rows = (table: string, least = 1): Wanted => ({ css: `table[aria-label="${table}"] tbody tr`, least });
const CHART = { css: "figure svg.recharts-surface" };

export const REQUESTS_PAGE = [{ css: "h1", text: "Requests" }, rows("Requests", 50), { css: "select", least: 3 }];
export const OVERVIEW = [{ css: "h1", text: "Overview" }, rows("Latest requests"), CHART];
export const SIGN_IN = [{ css: "input[name=email]" }, { css: "input[name=password]" }, { css: "button[type=submit]" }];

export const PAGES: MeasuredPage[] = [
  { name: "sign-in", path: "/sign-in", who: "nobody", cache: "cold", wanted: SIGN_IN },
  { name: "overview", path: "/overview", who: "builder", cache: "cold", wanted: OVERVIEW },
  { name: "overview", path: "/overview", who: "builder", cache: "warm", wanted: OVERVIEW },
  { name: "requests", path: "/requests", who: "builder", cache: "warm", wanted: REQUESTS_PAGE },
  {
    name: "playground",
    path: "/playground",
    who: "builder",
    cache: "warm",
    wanted: [
      { css: "h1", text: "Playground" },
      { css: "select option" },
      { css: "section[aria-label=Conversation] button" },
    ],
  },
  {
    name: "operator's platform",
    path: "/operator",
    who: "operator",
    cache: "warm",
    wanted: [
      { css: "h1", text: "Platform" },
      { css: "table tbody tr", least: 6 },
      { ...CHART, least: 2 },
    ],
  },
];
