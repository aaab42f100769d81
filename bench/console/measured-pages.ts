/** The measured pages of the console, and the elements that must be present before a page counts as usable. */

/**
 * Elements that must be on the page: at least `least` matches of the selector, each containing the text if one is
 * given.
 */
export interface RequiredElements {
  css: string;
  least?: number;
  text?: string;
}

interface Page {
  name: string;
  path: string;
  who: "nobody" | "builder" | "operator";
  wanted: RequiredElements[];
}

export interface MeasuredPage extends Page {
  /** `cold`: an empty cache in a new profile. `warm`: after a first visit with the same profile. */
  cache: "cold" | "warm";
}

const rows = (table: string, least = 1): RequiredElements => ({ css: `table[aria-label="${table}"] tbody tr`, least });
const heading = (text: string): RequiredElements => ({ css: "h1", text });
const CHART = { css: "figure svg[role=application]" };

export const SIGN_IN_PAGE: Page = {
  name: "sign-in",
  path: "/sign-in",
  who: "nobody",
  wanted: [{ css: "input[name=email]" }, { css: "input[name=password]" }, { css: "button[type=submit]" }],
};
export const OVERVIEW_PAGE: Page = {
  name: "overview",
  path: "/overview",
  who: "builder",
  wanted: [heading("Overview"), rows("Latest requests"), CHART],
};
export const REQUESTS_PAGE: Page = {
  name: "requests",
  path: "/requests",
  who: "builder",
  wanted: [heading("Requests"), rows("Requests", 50), CHART],
};
const PERFORMANCE: Page = {
  name: "performance",
  path: "/performance",
  who: "builder",
  wanted: [heading("Performance"), { ...CHART, least: 4 }, rows("Performance by model")],
};
const CREDITS: Page = {
  name: "credits",
  path: "/credits",
  who: "builder",
  wanted: [heading("Credits"), rows("Statement", 20)],
};
const PLAYGROUND: Page = {
  name: "playground",
  path: "/playground",
  who: "builder",
  wanted: [heading("Playground"), { css: "select option" }, { css: "section[aria-label=Conversation] button" }],
};
const PLATFORM: Page = {
  name: "operator's platform",
  path: "/operator",
  who: "operator",
  wanted: [heading("Platform"), { css: "table tbody tr", least: 6 }, { ...CHART, least: 2 }],
};

const cold = (page: Page): MeasuredPage => ({ ...page, cache: "cold" });
const warm = (page: Page): MeasuredPage => ({ ...page, cache: "warm" });

export const MEASURED_PAGES = [
  cold(SIGN_IN_PAGE),
  cold(OVERVIEW_PAGE),
  warm(OVERVIEW_PAGE),
  warm(REQUESTS_PAGE),
  warm(PLAYGROUND),
  warm(PLATFORM),
];

/** The IDs of a builder and a node that have a long history. */
interface PastIds {
  builder: string;
  node: string;
}

/**
 * The pages behind the sign-in, for accounts with a long history. The page Ledger is left out: it checks every record of
 * the ledger when it opens, which takes minutes.
 */
export function longHistoryPages({ builder, node }: PastIds): MeasuredPage[] {
  const page = (who: Page["who"], path: string, ...wanted: RequiredElements[]): MeasuredPage =>
    cold({ name: path.replace(/_\w{8,}/, "_…"), path, who, wanted: [{ css: "h1" }, ...wanted] });
  const table = { css: "main table tbody tr" };
  return [
    cold(OVERVIEW_PAGE),
    cold(PERFORMANCE),
    cold({ ...PERFORMANCE, name: "performance, 7 days", path: "/performance?range=7d" }),
    cold(REQUESTS_PAGE),
    page("builder", "/requests?sort=cost", table),
    cold(CREDITS),
    page("builder", "/keys", table),
    page("builder", "/models", table),
    page("builder", "/models/tiny-3b?range=30d", CHART),
    page("builder", "/playground", { css: "select option" }),
    page("builder", "/team", table),
    page("builder", "/notifications", table),
    page("builder", "/settings"),
    page("builder", "/host", table),
    page("builder", `/host/nodes/${node}`, CHART),
    page("builder", "/host/earnings", CHART, table),
    page("builder", "/host/market", table),
    page("builder", "/host/payouts", { css: "dl" }),
    page("builder", "/host/tokens"),
    cold(PLATFORM),
    page("operator", "/operator/accounts", table),
    page("operator", `/operator/accounts/${builder}`, CHART, table),
    page("operator", "/operator/nodes", table),
    page("operator", "/operator/payouts"),
    page("operator", "/operator/requests", { css: "input[type=search]" }),
    page("operator", "/operator/audit"),
  ];
}
