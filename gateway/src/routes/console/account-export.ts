/** The export of an account as files: the files that its console pages offer, and its settings and lists as JSON. */
import type { Membership } from "../../accounts/accounts.ts";
import type { SignedInPerson } from "../../accounts/identities.ts";
import { creationTimeMsOf } from "../../base/ids.ts";
import { DAY_MS } from "../../base/time.ts";
import type { ZipEntry } from "../../base/zip.ts";
import type { OpenCall } from "../../http/http-call.ts";
import type { TextFile } from "../../http/serve-routes.ts";
import type { RouteServices } from "../services.ts";
import { accountObject } from "./accounts.ts";
import { balanceAndUsageHandlers } from "./balance-and-usage.ts";
import { earningHandlers } from "./earnings.ts";
import { hostHandlers } from "./host-tokens-and-nodes.ts";
import { invoiceHandlers } from "./invoices.ts";
import { keyHandlers } from "./keys.ts";
import { notificationHandlers } from "./notifications.ts";
import { paymentHandlers } from "./payments.ts";
import { hostPayoutHandlers } from "./payouts.ts";
import { refusedCallHandlers } from "./refused-calls.ts";
import { requestHandlers } from "./requests.ts";
import { statementHandlers } from "./statement.ts";
import { teamHandlers } from "./team.ts";

const PAGE_ROWS = 100;
const USAGE_DAYS = 400;

interface Caller {
  who: SignedInPerson;
  call: OpenCall;
}
/**
 * The handler of a route that only reads. The export calls it directly, with the caller and the query that the route's
 * guard would have checked. `never`: each handler has other parameters.
 */
type Reads<Answer> = (asked: never) => Promise<Answer>;
type Page = { data: unknown[]; next_cursor: string | null };

export async function* exportAccountFiles(
  parts: RouteServices,
  { who, call }: Caller,
  account: Membership,
): AsyncGenerator<ZipEntry> {
  const ask = <Answer>(read: Reads<Answer>, query: object = {}): Promise<Answer> =>
    read({ who, call, account, query, params: {}, refuse: unexpected } as never);
  const json = (name: string, read: () => Promise<unknown>): ZipEntry => ({ name, text: jsonOf(read) });
  const list = (name: string, read: Reads<Page>): ZipEntry => json(name, () => allOf((query) => ask(read, query)));
  const file = async (folder: string, read: Reads<TextFile>, query?: object): Promise<ZipEntry> => {
    const { name, text } = await ask(read, query);
    // Every file inside the export is text. Only the ZIP file around them is binary.
    return { name: `${folder}${name}`, text: text as AsyncIterable<string> };
  };
  const { now } = parts;
  const team = teamHandlers(parts);
  const notifications = notificationHandlers(parts);
  const invoices = invoiceHandlers(parts);
  yield json("account.json", async () => ({
    exported_at: new Date(now()).toISOString(),
    account: accountObject(account),
    team: await ask(team.getTeam),
    notifications: await ask(notifications.getNotificationSettings),
  }));
  yield list("notifications.json", notifications.listNotifications as Reads<Page>);
  const months = monthsFrom(creationTimeMsOf(account.id), now());
  if (account.kind === "builder") {
    const { getCredits, exportStatement } = statementHandlers(parts);
    yield json("credit.json", () => ask(getCredits));
    yield list("keys.json", keyHandlers(parts).listKeys as Reads<Page>);
    yield await file("", requestHandlers(parts).exportRequests);
    yield await file("", exportStatement);
    const since = new Date(Math.max(creationTimeMsOf(account.id), now() - USAGE_DAYS * DAY_MS));
    yield json("usage-by-day-and-model.json", async () => {
      const { data } = await ask(balanceAndUsageHandlers(parts).getUsage, { by: "day", split: "model", from: since });
      return data;
    });
    yield json("refused-calls.json", () => ask(refusedCallHandlers(parts).listRefusals));
    const { payments } = parts;
    if (payments !== undefined) {
      yield list("payments.json", paymentHandlers({ ...parts, payments }).listPayments as Reads<Page>);
    }
    for (const month of months) yield await file("invoices/", invoices.getInvoice, { month });
    return;
  }
  const host = hostHandlers(parts);
  const earnings = earningHandlers(parts);
  yield list("host-tokens.json", host.listHostTokens as Reads<Page>);
  yield list("nodes.json", host.listNodes as Reads<Page>);
  yield await file("", earnings.exportEarnings);
  yield list("payouts.json", hostPayoutHandlers(parts).listHostPayouts as Reads<Page>);
  yield json("payout-method.json", async () => {
    const method = await parts.identities.payoutMethods.of(account.id);
    // The payout method's full number, because the export is for the account's owner.
    return (
      method && {
        kind: method.kind,
        holder: method.holder,
        number: method.number,
        bank_code: method.bankCode,
        changed_at: method.changedAt,
      }
    );
  });
  yield list("withheld-shares.json", earnings.listWithheld as Reads<Page>);
  for (const month of months) yield await file("statements/", invoices.getHostStatement, { month });
}

async function* jsonOf(read: () => Promise<unknown>): AsyncGenerator<string> {
  yield `${JSON.stringify((await read()) ?? null, undefined, 2)}\n`;
}

async function allOf(read: (query: object) => Promise<Page>): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let cursor: string | undefined; ; ) {
    const { data, next_cursor: next } = await read({ limit: PAGE_ROWS, cursor });
    all.push(...data);
    if (next === null) return all;
    cursor = next;
  }
}

/** The months from `startMs` to `endMs`, such as `2026-10` and `2026-11`. */
function monthsFrom(startMs: number, endMs: number): string[] {
  const months: string[] = [];
  const at = new Date(startMs);
  at.setUTCDate(1);
  for (; at.getTime() <= endMs; at.setUTCMonth(at.getUTCMonth() + 1)) months.push(at.toISOString().slice(0, 7));
  return months;
}

/** Throws, because a handler never refuses to read the person's own account. */
function unexpected(code: string): never {
  throw new Error(`a handler refused to read data for the account export: ${code}`);
}
