/**
 * `tollgate admin operator …`: creates, lists and removes operators, and resets a lost second factor. A password is
 * required for new users and users with an unconfirmed address. `--password -` reads it from standard input, to keep it
 * out of the shell history and process list.
 */
import { text } from "node:stream/consumers";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { z } from "zod";
import { createOperator } from "../../accounts/create-identity.ts";
import { listOperators, type Operator, removeOperator, resetSecondFactor } from "../../accounts/operators.ts";
import { publicId } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import { openAudit } from "../../operators/audit.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";

const EMAIL = { value: "EMAIL", required: true, help: "the email address to sign in with" } as const;

export const operatorCommands: Record<string, AdminCommand> = {
  "operator create": {
    help: "make a user an operator, or create a new user who is an operator",
    flags: {
      email: EMAIL,
      password: { value: "-", help: "read a new password from standard input" },
      name: { value: "NAME", help: "display name of a new user (default: Operator)" },
    },
    more: [
      "A new user needs a password. A user with a confirmed email address keeps the current one: omit --password.",
      "For a user with an unconfirmed address, --password is required. Setting it also ends the user's sessions and removes the second factor.",
    ],
    example: "--email you@example.com --password -",
    run: create,
  },
  "operator list": {
    help: "list the operators",
    flags: {},
    example: "--json",
    run: list,
  },
  "operator remove": {
    help: "take an operator's rights away; the person stays a user and is signed out everywhere",
    flags: { email: EMAIL },
    example: "--email you@example.com",
    run: (run) => change(run, { action: "operator.remove", act: removeOperator, done: "is no longer an operator" }),
  },
  "operator reset-second-factor": {
    help: "remove the second factor that an operator has lost, and sign the operator out everywhere",
    flags: { email: EMAIL },
    more: ["The operator signs in with the password, and can set up a new second factor."],
    example: "--email you@example.com",
    run: (run) =>
      change(run, {
        action: "operator.reset_second_factor",
        act: resetSecondFactor,
        done: "signs in with the password alone now",
      }),
  },
};

async function list(run: AdminRun): Promise<number> {
  const operators = await listOperators(run.pool);
  const shown = operators.map(({ id, email, name, hasSecondFactor, lastSeenAt }) => ({
    id: publicId("usr", id),
    email,
    name,
    second_factor: hasSecondFactor,
    last_seen_at: lastSeenAt === null ? null : toUnixSeconds(lastSeenAt),
  }));
  const none = "There is no operator yet. Create one: tollgate admin operator create";
  if (run.json) run.print(JSON.stringify(shown, null, 2));
  else run.print(operators.length === 0 ? none : formatTable(COLUMNS, operators, run.terminal));
  return 0;
}

const COLUMNS: Column<Operator>[] = [
  { title: "EMAIL", cell: ({ email }) => email },
  { title: "NAME", cell: ({ name }) => name },
  { title: "SECOND FACTOR", cell: ({ hasSecondFactor }) => (hasSecondFactor ? "yes" : "no") },
  { title: "LAST SEEN", cell: ({ lastSeenAt }) => lastSeenAt?.toISOString() ?? "not signed in" },
];

interface Change {
  action: string;
  act: (pool: AdminRun["pool"], email: string) => Promise<void>;
  /** The result, printed after the email address, such as "is no longer an operator". */
  done: string;
}

async function change(run: AdminRun, { action, act, done }: Change): Promise<number> {
  const email = emailIn(run).toLowerCase();
  const recorded = { operator: COMMAND_LINE_ACTOR, action, subject: email, details: {} };
  await openAudit(run).record(recorded, () => act(run.pool, email));
  run.print(run.json ? JSON.stringify({ email }) : `${email} ${done}.`);
  return 0;
}

function emailIn({ flags }: AdminRun): string {
  const email = z.email().safeParse(flags.email);
  if (!email.success) throw new UsageError("--email must be an email address");
  return email.data;
}

async function create(run: AdminRun): Promise<number> {
  const email = emailIn(run);
  const { name = "Operator" } = run.flags;
  const password = await readPassword(run.flags.password);
  const act = { operator: COMMAND_LINE_ACTOR, action: "operator.create", subject: email, details: {} };
  const { id, promoted } = await openAudit(run).record(act, () => createOperator(run, { email, password, name }));
  const made = { id: publicId("usr", id), email: email.toLowerCase(), promoted };
  const keeps = promoted && password === undefined;
  const told = `${made.email} is now an operator${keeps ? " and signs in as before" : ""}.`;
  run.print(run.json ? JSON.stringify(made) : told);
  return 0;
}

async function readPassword(flag: string | undefined): Promise<string | undefined> {
  if (flag === undefined) return undefined;
  if (flag !== "-")
    throw new UsageError('--password must be "-", with the password on standard input: other users can see flags');
  return (await text(process.stdin)).replace(/\r?\n$/, "");
}
