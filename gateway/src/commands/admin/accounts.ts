/**
 * `tollgate admin account …`, `grant`, `suspend`, `restore`: creates, lists and changes accounts. Each action is
 * recorded in the audit log.
 */
import { ACCOUNTS_PER_IDENTITY_MAX } from "@tollgate/api/api-limits.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatProperties, formatTable } from "@tollgate/terminal/table-format.ts";
import { openAccounts } from "../../accounts/accounts.ts";
import { parseId, publicId } from "../../base/ids.ts";
import { formatExactMicrodollars, PICO_PER_DOLLAR, PICO_PER_MICRO, type Pico, pico } from "../../base/money.ts";
import { ACCOUNT_KINDS, type AccountKind } from "../../base/stored-enumerations.ts";
import { openEarningsHistory } from "../../history/earnings.ts";
import { openLedger } from "../../ledger/ledger.ts";
import { type AccountEntry, openAccountDirectory } from "../../operators/account-directory.ts";
import { openAudit } from "../../operators/audit.ts";
import { BALANCE_MAX, GRANT_MAX, grantCredit } from "../../operators/credit-grants.ts";
import { setCreditAlert } from "../../payments/credit-alerts.ts";
import { disableTopUp } from "../../payments/top-up-settings.ts";
import {
  ACCOUNT_ARGUMENT,
  type AdminCommand,
  type AdminRun,
  COMMAND_LINE_ACTOR,
  NAME_ARGUMENT,
  parseNameArgument,
  REASON_FLAG,
  readEveryPage,
} from "./admin-run.ts";
import { creditSettingsJson, formatCreditSettings, parseThreshold, readCreditSettings } from "./credit-settings.ts";
import { formatDollars } from "./format-dollars.ts";

export const accountCommands: Record<string, AdminCommand> = {
  "account list": {
    help: "list accounts with their balances, newest first",
    flags: {
      q: { value: "TEXT", help: "list only accounts with this text in their name or in an owner's email address" },
      kind: { value: "KIND", help: "list only accounts of this kind", oneOf: ACCOUNT_KINDS },
    },
    example: "--kind builder --q example.com",
    run: list,
  },
  "account show": {
    help: "show an account with its balance, owners and team",
    args: ACCOUNT_ARGUMENT,
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z",
    run: show,
  },
  "account open": {
    help: "open an account",
    args: { KIND: { help: "kind of account", oneOf: ACCOUNT_KINDS }, ...NAME_ARGUMENT },
    flags: { owner: { value: "EMAIL", help: "email address of the account's owner, who must have signed up" } },
    example: 'builder "Example Ltd" --owner ada@example.com',
    run: open,
  },
  "account suspend": {
    help: "suspend an account: its keys and tokens stop working immediately",
    args: ACCOUNT_ARGUMENT,
    flags: REASON_FLAG,
    example: 'acc_01jc9v6w2e8t3k5m7q9r1s4x6z --reason "unpaid since May"',
    run: suspend,
  },
  "account restore": {
    help: "end an account's suspension",
    args: ACCOUNT_ARGUMENT,
    flags: REASON_FLAG,
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z --reason paid",
    run: restore,
  },
  suspend: {
    help: 'the same as "account suspend"',
    args: ACCOUNT_ARGUMENT,
    flags: REASON_FLAG,
    example: 'acc_01jc9v6w2e8t3k5m7q9r1s4x6z --reason "unpaid since May"',
    run: suspend,
  },
  grant: {
    help: "give a builder credit",
    args: ACCOUNT_ARGUMENT,
    flags: {
      usd: {
        value: "USD",
        required: true,
        help: `amount in dollars, more than 0 and at most ${GRANT_MAX / PICO_PER_DOLLAR}, such as 5 or 0.25`,
      },
      ...REASON_FLAG,
    },
    example: 'acc_01jc9v6w2e8t3k5m7q9r1s4x6z --usd 25 --reason "first month"',
    run: grant,
  },
  "account alert": {
    help: "set the low-credit alert of a builder account",
    args: ACCOUNT_ARGUMENT,
    flags: {
      below: {
        value: "USD",
        required: true,
        help: 'email the owners when the balance drops below this amount in dollars, such as 2, or "none"',
      },
      ...REASON_FLAG,
    },
    example: 'acc_01jc9v6w2e8t3k5m7q9r1s4x6z --below 2 --reason "asked for by mail"',
    run: alert,
  },
  "account top-up-off": {
    help: "turn off a builder's automatic top-up; only the card's owner can turn it on again",
    args: ACCOUNT_ARGUMENT,
    flags: REASON_FLAG,
    example: 'acc_01jc9v6w2e8t3k5m7q9r1s4x6z --reason "asked for by mail"',
    run: topUpOff,
  },
};

async function list({ pool, json, print, flags, terminal }: AdminRun): Promise<number> {
  const { q } = flags;
  const kind = ACCOUNT_KINDS.find((one) => one === flags.kind);
  const directory = openAccountDirectory({ pool });
  const accounts = await readEveryPage((page) => directory.search({ text: q, kind, ...page }));
  if (json) print(JSON.stringify(accounts.map(shown), null, 2));
  else print(accounts.length === 0 ? "No account matches." : formatTable(COLUMNS, accounts, terminal));
  return 0;
}

async function show(run: AdminRun): Promise<number> {
  const { id } = await findAccount(run);
  return report(run, publicId("acc", id));
}

async function open(run: AdminRun): Promise<number> {
  const kind = run.args[0] as AccountKind;
  const name = parseNameArgument(run.args[1]);
  const { owner } = run.flags;
  const accounts = openAccounts(run);
  const details = owner === undefined ? { name } : { name, owner };
  const act = { operator: COMMAND_LINE_ACTOR, action: "account.open", subject: kind, details };
  const id = await openAudit(run).record(act, async () => {
    if (owner === undefined) return accounts.open(kind, name);
    const opened = await accounts.openFor(owner, { kind, name });
    if (opened === "nobody") throw new Error(`--owner: nobody has signed up as ${owner}`);
    if (opened === "too_many")
      throw new Error(`--owner: ${owner} has ${ACCOUNTS_PER_IDENTITY_MAX} accounts, which is the limit`);
    return opened;
  });
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
  const [subject, reason] = [publicId("acc", id), parseReason(run)];
  const action = suspended ? "account.suspend" : "account.restore";
  await openAudit(run).record({ operator: COMMAND_LINE_ACTOR, action, subject, details: { reason } }, () =>
    restoring(openAccountDirectory(run).setSuspended(id, suspended)),
  );
  return report(run, subject);
}

async function restoring(done: Promise<boolean>): Promise<void> {
  if (!(await done)) throw new Error("the account was deleted by its owner; it cannot be suspended or restored");
}

async function grant(run: AdminRun): Promise<number> {
  const { id, kind } = await findAccount(run);
  if (kind !== "builder") throw new Error("credit is granted to builder accounts only");
  const [subject, reason, amount] = [publicId("acc", id), parseReason(run), parseDollars("usd", run.flags.usd)];
  const ledger = openLedger({ pool: run.pool, clock: run.clock, gatewayId: "admin" });
  const details = { amount_micro: formatExactMicrodollars(amount), reason };
  const act = { operator: COMMAND_LINE_ACTOR, action: "account.grant", subject, details };
  await openAudit(run).record(act, async () => {
    const granted = await grantCredit(ledger, { id: run.newId(), accountId: id, amount, reason });
    if (granted === "balance_too_large") {
      throw new Error(`--usd must not bring the balance above ${BALANCE_MAX / PICO_PER_DOLLAR} dollars`);
    }
  });
  return report(run, subject);
}

async function alert(run: AdminRun): Promise<number> {
  const { id, kind } = await findAccount(run);
  if (kind !== "builder") throw new Error("this is a host account, and only builder accounts have credit");
  const [subject, reason, mark] = [publicId("acc", id), parseReason(run), parseThreshold(run.flags.below)];
  const details = { mark_micro: mark === null ? null : formatExactMicrodollars(mark), reason };
  const act = { operator: COMMAND_LINE_ACTOR, action: "account.alert", subject, details };
  await openAudit(run).record(act, () => setCreditAlert(run.pool, id, mark));
  return report(run, subject);
}

async function topUpOff(run: AdminRun): Promise<number> {
  const { id } = await findAccount(run);
  const [subject, reason] = [publicId("acc", id), parseReason(run)];
  const act = { operator: COMMAND_LINE_ACTOR, action: "account.top_up_off", subject, details: { reason } };
  await openAudit(run).record(act, async () => {
    if (!(await disableTopUp(run.pool, id)))
      throw new CommandError("this account has no automatic top-up", {
        next: "tollgate admin account show ACCOUNT shows the account's settings",
      });
  });
  return report(run, subject);
}

/** Parses a dollar amount with up to six decimals: `5`, `0.25`. */
export function parseDollars(flag: string, text: string | undefined): Pico {
  const match = /^(\d{1,7})(?:\.(\d{1,6}))?$/.exec(text ?? "");
  const amount = match === null ? 0n : BigInt(`${match[1]}${(match[2] ?? "").padEnd(6, "0")}`) * PICO_PER_MICRO;
  if (amount === 0n || amount > GRANT_MAX) {
    throw new UsageError(
      `--${flag} must be an amount in dollars, more than 0 and at most ${GRANT_MAX / PICO_PER_DOLLAR}, such as 5 or 0.25`,
    );
  }
  return pico(amount);
}

/** Finds the account that the command's first argument names. */
export async function findAccount({ pool, args }: AdminRun): Promise<AccountEntry> {
  const id = parseId("acc", args[0] ?? "");
  const account = id === undefined ? undefined : await openAccountDirectory({ pool }).find(id);
  if (account === undefined)
    throw new CommandError(`there is no account ${args[0]}`, { next: "tollgate admin account list" });
  return account;
}

export function parseReason({ flags }: AdminRun): string {
  const reason = flags.reason?.trim() ?? "";
  if (reason === "" || reason.length > 200) throw new UsageError("--reason must say why, in 1 to 200 characters");
  return reason;
}

async function report(run: AdminRun, account: string): Promise<number> {
  const entry = await findAccount({ ...run, args: [account] });
  const credit = entry.kind === "builder" ? await readCreditSettings(run, entry.id) : undefined;
  const own = entry.kind === "host" ? await openEarningsHistory(run).own(entry.id) : undefined;
  const json = {
    ...shown(entry),
    ...(credit !== undefined && creditSettingsJson(credit)),
    ...(own !== undefined && { own_micro: formatExactMicrodollars(own) }),
  };
  const text = {
    ...told(entry),
    ...(credit !== undefined && formatCreditSettings(credit, entry.balance)),
    ...(own !== undefined && { "Own use": `${formatDollars(own)} earned from its own requests` }),
  };
  run.print(run.json ? JSON.stringify(json, null, 2) : formatProperties(text, run.terminal));
  return 0;
}

const stateOf = ({ suspendedAt }: AccountEntry): string => (suspendedAt === null ? "active" : "SUSPENDED");

const COLUMNS: Column<AccountEntry>[] = [
  { title: "ACCOUNT", cell: ({ id }) => publicId("acc", id) },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "BALANCE", align: "money", cell: ({ balance }) => formatDollars(balance) },
  { title: "HELD", align: "money", cell: ({ held }) => formatDollars(held) },
  {
    title: "STATE",
    cell: stateOf,
    colour: ({ suspendedAt }, paint) => (suspendedAt === null ? paint.good : paint.bad),
  },
  { title: "NAME", cell: ({ name }) => name },
  { title: "OWNERS", cell: ({ owners }) => owners.join(" ") },
];

function told(entry: AccountEntry): Record<string, string> {
  const { id, kind, name, balance, held, suspendedAt, createdAt, owners, members } = entry;
  return {
    Account: publicId("acc", id),
    Kind: kind,
    Name: name,
    Balance: formatDollars(balance),
    Held: `${formatDollars(held)} for requests in flight`,
    Owners: owners.join(", ") || "nobody",
    Team: members.map(({ email, role }) => `${email} (${role})`).join(", ") || "nobody",
    Opened: createdAt.toISOString(),
    State: suspendedAt === null ? "active" : `SUSPENDED since ${suspendedAt.toISOString()}`,
  };
}

function shown({ id, balance, held, ...rest }: AccountEntry): object {
  return {
    id: publicId("acc", id),
    balance_micro: formatExactMicrodollars(balance),
    held_micro: formatExactMicrodollars(held),
    ...rest,
  };
}
