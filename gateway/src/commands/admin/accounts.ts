/** `tollgate admin account …`, `grant`, `suspend`, `restore`, `audit list`: each act is on the operators' record. */
import { openAccounts } from "../../accounts/accounts.ts";
import { systemClock } from "../../base/clock.ts";
import { parseId, publicId } from "../../base/ids.ts";
import { exactMicro, PICO_PER_DOLLAR, PICO_PER_MICRO, type Pico, pico } from "../../base/money.ts";
import { openLedger } from "../../ledger/ledger.ts";
import { openAudit } from "../../operators/audit.ts";
import { type AccountEntry, openDirectory } from "../../operators/directory.ts";
import { BALANCE_MAX, GRANT_MAX, grantCredit } from "../../operators/grants.ts";
import { type AdminCommand, type AdminRun, everyPage, SHELL_OPERATOR } from "./admin-run.ts";

export const accountCommands: Record<string, AdminCommand> = {
  "account list": {
    help: "accounts with their balances; --q finds a part of a name or address",
    flags: ["q", "kind"],
    run: list,
  },
  "account show": { help: "one account with its balance, owners and team", args: ["ACCOUNT"], run: show },
  "account open": { help: "open an account; KIND is builder or host", args: ["KIND", "NAME"], run: open },
  "account suspend": {
    help: "stop an account's keys and tokens at once",
    args: ["ACCOUNT"],
    flags: ["reason"],
    run: suspend,
  },
  "account restore": { help: "end an account's suspension", args: ["ACCOUNT"], flags: ["reason"], run: restore },
  suspend: { help: "the same as account suspend", args: ["ACCOUNT"], flags: ["reason"], run: suspend },
  grant: { help: "give a builder credit, in dollars", args: ["ACCOUNT"], flags: ["usd", "reason"], run: grant },
  "audit list": { help: "the last 1000 things that operators did, newest first", run: auditList },
};

const ACTS_MAX = 1000;

async function list({ pool, json, print, flags }: AdminRun): Promise<number> {
  const { q, kind } = flags;
  if (kind !== undefined && kind !== "builder" && kind !== "host") throw new Error("--kind must be builder or host");
  const directory = openDirectory({ pool });
  const accounts = await everyPage((page) => directory.search({ text: q, kind, ...page }));
  if (json) print(JSON.stringify(accounts.map(shown), null, 2));
  else for (const account of accounts) print(line(account));
  return 0;
}

async function show(run: AdminRun): Promise<number> {
  const { id } = await findAccount(run);
  return report(run, publicId("acc", id));
}

async function open(run: AdminRun): Promise<number> {
  const [kind, name = ""] = run.args;
  if (kind !== "builder" && kind !== "host") throw new Error("KIND must be builder or host");
  if (name.trim() === "" || name.length > 200) throw new Error("NAME must have 1 to 200 characters");
  const accounts = openAccounts(run);
  const act = { operator: SHELL_OPERATOR, action: "account.open", subject: kind, details: { name } };
  const id = await openAudit(run).record(act, () => accounts.open(kind, name));
  return report(run, publicId("acc", id));
}

function suspend(run: AdminRun): Promise<number> {
  return setSuspended(run, true);
}

function restore(run: AdminRun): Promise<number> {
  return setSuspended(run, false);
}

async function setSuspended(run: AdminRun, suspended: boolean): Promise<number> {
  const { id } = await findAccount(run);
  const [subject, reason] = [publicId("acc", id), reasonOf(run)];
  const action = suspended ? "account.suspend" : "account.restore";
  await openAudit(run).record({ operator: SHELL_OPERATOR, action, subject, details: { reason } }, () =>
    openDirectory(run).setSuspended(id, suspended),
  );
  return report(run, subject);
}

async function grant(run: AdminRun): Promise<number> {
  const { id, kind } = await findAccount(run);
  if (kind !== "builder") throw new Error("credit is granted to builder accounts only");
  const [subject, reason, amount] = [publicId("acc", id), reasonOf(run), dollarsOf("usd", run.flags.usd)];
  const ledger = openLedger({ pool: run.pool, clock: systemClock, gatewayId: "admin" });
  const details = { amount_micro: exactMicro(amount), reason };
  const act = { operator: SHELL_OPERATOR, action: "account.grant", subject, details };
  await openAudit(run).record(act, async () => {
    const granted = await grantCredit(ledger, { id: run.newId(), accountId: id, amount, reason });
    if (granted === "balance_too_large") {
      throw new Error(`--usd must not bring the balance above ${BALANCE_MAX / PICO_PER_DOLLAR} dollars`);
    }
  });
  return report(run, subject);
}

/** Dollars as people write them, to the microdollar: `5`, `0.25`. */
export function dollarsOf(flag: string, text: string | undefined): Pico {
  const match = /^(\d{1,7})(?:\.(\d{1,6}))?$/.exec(text ?? "");
  const amount = match === null ? 0n : BigInt(`${match[1]}${(match[2] ?? "").padEnd(6, "0")}`) * PICO_PER_MICRO;
  if (amount === 0n || amount > GRANT_MAX) {
    throw new Error(`--${flag} must be dollars, more than 0 and at most ${GRANT_MAX / PICO_PER_DOLLAR}: 5, 0.25`);
  }
  return pico(amount);
}

async function auditList(run: AdminRun): Promise<number> {
  const actions = await openAudit(run).list({ limit: ACTS_MAX });
  if (run.json) {
    run.print(
      JSON.stringify(
        actions.map(({ id: _, ...rest }) => rest),
        null,
        2,
      ),
    );
    return 0;
  }
  for (const { at, operator, action, subject, details, outcome } of actions) {
    run.print(`${at.toISOString()}  ${operator}  ${action}  ${subject}  ${outcome ?? "?"}  ${JSON.stringify(details)}`);
  }
  return 0;
}

/** The account that the first argument names. */
export async function findAccount({ pool, args }: AdminRun): Promise<AccountEntry> {
  const id = parseId("acc", args[0] ?? "");
  const account = id === undefined ? undefined : await openDirectory({ pool }).find(id);
  if (account === undefined) throw new Error(`there is no account ${args[0]}`);
  return account;
}

export function reasonOf({ flags }: AdminRun): string {
  const reason = flags.reason?.trim() ?? "";
  if (reason === "" || reason.length > 200) throw new Error("--reason must say why, in 1 to 200 characters");
  return reason;
}

async function report(run: AdminRun, account: string): Promise<number> {
  const entry = await findAccount({ ...run, args: [account] });
  run.print(run.json ? JSON.stringify(shown(entry), null, 2) : line(entry));
  return 0;
}

function line({ id, kind, name, balance, held, suspendedAt, owners, members }: AccountEntry): string {
  const team = [...owners, ...members.map(({ email, role }) => `${email} (${role})`)];
  const parts = [publicId("acc", id), kind.padEnd(7), `${exactMicro(balance)} µ`, name, team.join(" ")];
  if (held > 0n) parts.push(`(${exactMicro(held)} µ held)`);
  if (suspendedAt !== null) parts.push("SUSPENDED");
  return parts.join("  ").trimEnd();
}

function shown({ id, balance, held, ...rest }: AccountEntry): object {
  return { id: publicId("acc", id), balance_micro: exactMicro(balance), held_micro: exactMicro(held), ...rest };
}
