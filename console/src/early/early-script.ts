/**
 * Runs before the page's own code. Applies the dark theme before the first paint. Requests the session, the page's data
 * and the page's code concurrently, and stores the responses for the page (api/prefetched-responses.ts). Without this
 * script pages work too, but load more slowly.
 */
import { ACCOUNT_HEADER } from "../api/account-header.ts";
import type { Me } from "../api/answer-types.ts";
import { findAccountIdForPath, findChosenAccount, setOwnedAccounts } from "../api/chosen-account.ts";
import type { PrefetchedResponse } from "../api/prefetched-responses.ts";
import { buildRouteUrl } from "../api/route-urls.ts";
import { applyTheme } from "../ui/stored-theme.ts";
import { findPrefetchedVisit } from "./prefetched-requests.ts";

/** For each page, the code files that index.html does not name. Filled in by the build (tools/early-script.ts). */
declare const CODE_OF_PAGES: Record<string, string[]>;

const answers = new Map<string, PrefetchedResponse>();
globalThis.tollgateEarly = answers;

const get = (address: string, account?: string): Promise<Response> =>
  fetch(address, account === undefined ? {} : { headers: { [ACCOUNT_HEADER]: account } });

function keep(address: string, answer: Promise<Response>, account?: string): void {
  // The page handles the error when it uses the response. Until then it must not count as an unhandled rejection.
  answer.catch(() => undefined);
  answers.set(address, { account, askedAtMs: performance.now(), answer });
}

function fetchCode(files: string[]): void {
  for (const file of files) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.crossOrigin = "";
    link.href = file;
    document.head.append(link);
  }
}

/** Sends the page's requests as soon as the session's response names the account. */
async function askForPage(session: Promise<Response>): Promise<void> {
  const visit = findPrefetchedVisit(location);
  if (visit === undefined) return;
  fetchCode(CODE_OF_PAGES[visit.page.code] ?? []);
  const response = await session;
  if (!response.ok) return;
  const { identity, accounts } = (await response.clone().json()) as Me | { identity: null; accounts: [] };
  setOwnedAccounts(accounts);
  const isTheirs =
    visit.page.of === "operator" ? identity?.operator === true : findChosenAccount("builder") !== undefined;
  if (!isTheirs) return;
  for (const address of visit.page.questions(visit.range, Date.now())) {
    const account = findAccountIdForPath(address);
    keep(address, get(address, account), account);
  }
}

applyTheme();

/** The document preloads this URL while the script is loading (index.html). */
const SESSION = buildRouteUrl("GET /console/api/auth/get-session");
const session = get(SESSION);
// Errors are ignored, because the page's own request fails in the same way and shows them.
const asked = askForPage(session).catch(() => undefined);
// The session is handed over only after the page's requests were sent. Otherwise a page whose code is already loaded
// would send them a second time.
keep(
  SESSION,
  asked.then(() => session),
);
