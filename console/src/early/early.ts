/**
 * Runs before the page's own code: applies the dark theme before the first paint, requests the session and the page's data, and fetches the
 * page's code, all concurrently. The answers are kept for the page (api/early.ts). Pages also work without it, more slowly.
 */
import { ACCOUNT_HEADER } from "../api/account-header.ts";
import { actingAccount, actingFor, knowAccounts } from "../api/acting.ts";
import { addressOf } from "../api/address.ts";
import type { EarlyAnswer } from "../api/early.ts";
import type { Me } from "../api/types.ts";
import { applyTheme } from "../ui/theme-choice.ts";
import { visitOf } from "./questions.ts";

/** The files of each page's code that the document does not name. Filled in by the build (tools/early-script.ts). */
declare const CODE_OF_PAGES: Record<string, string[]>;

const answers = new Map<string, EarlyAnswer>();
globalThis.tollgateEarly = answers;

const get = (address: string, account?: string): Promise<Response> =>
  fetch(address, account === undefined ? {} : { headers: { [ACCOUNT_HEADER]: account } });

function keep(address: string, answer: Promise<Response>, account?: string): void {
  // The page sees the error when it uses the answer. Until then it must not count as an unhandled rejection.
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

/** Sends the page's requests as soon as the account is known. */
async function askForPage(session: Promise<Response>): Promise<void> {
  const visit = visitOf(location);
  if (visit === undefined) return;
  fetchCode(CODE_OF_PAGES[visit.page.code] ?? []);
  const response = await session;
  if (!response.ok) return;
  const { identity, accounts } = (await response.clone().json()) as Me | { identity: null; accounts: [] };
  knowAccounts(accounts);
  const isTheirs = visit.page.of === "operator" ? identity?.operator === true : actingAccount("builder") !== undefined;
  if (!isTheirs) return;
  for (const address of visit.page.questions(visit.range, Date.now())) {
    const account = actingFor(address);
    keep(address, get(address, account), account);
  }
}

applyTheme();

/** The document preloads it while this script is loading (index.html). */
const SESSION = addressOf("GET /console/api/auth/get-session");
const session = get(SESSION);
// Errors are ignored here, because the page's own request fails in the same way and shows them.
const asked = askForPage(session).catch(() => undefined);
// The session's answer is handed over after the page's requests were sent: a page whose code is already loaded would
// send them again.
keep(
  SESSION,
  asked.then(() => session),
);
