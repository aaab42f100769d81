/**
 * `tollgate admin operator create`: makes somebody an operator. A new user needs a password, read from standard input with
 * `--password -` so that no shell or process list keeps it; so does one who never confirmed the email address. Others keep theirs.
 */
import { text } from "node:stream/consumers";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { z } from "zod";
import { createOperator } from "../../accounts/enrolment.ts";
import { publicId } from "../../base/ids.ts";
import { openAudit } from "../../operators/audit.ts";
import { type AdminCommand, type AdminRun, SHELL_OPERATOR } from "./admin-run.ts";

export const operatorCommands: Record<string, AdminCommand> = {
  "operator create": {
    help: "make a user an operator; a new user is created",
    flags: {
      email: { value: "EMAIL", required: true, help: "the email address to sign in with" },
      password: { value: "-", help: "read a new password from standard input" },
      name: { value: "NAME", help: "display name of a new user (default: Operator)" },
    },
    more: [
      "A new user needs a password. A user with a confirmed email address keeps the password.",
      "A user with an unconfirmed address needs a new password, which ends the user's sessions and removes the second factor.",
    ],
    example: "--email you@example.com --password -",
    run: create,
  },
};

async function create(run: AdminRun): Promise<number> {
  const email = z.email().safeParse(run.flags.email);
  if (!email.success) throw new UsageError("--email must be an email address");
  const { name = "Operator" } = run.flags;
  const password = await readPassword(run.flags.password);
  const act = { operator: SHELL_OPERATOR, action: "operator.create", subject: email.data, details: {} };
  const { id, promoted } = await openAudit(run).record(act, () =>
    createOperator(run, { email: email.data, password, name }),
  );
  const made = { id: publicId("usr", id), email: email.data.toLowerCase(), promoted };
  const keeps = promoted && password === undefined;
  const told = `${made.email} is now an operator${keeps ? " and signs in as before" : ""}.`;
  run.print(run.json ? JSON.stringify(made) : told);
  return 0;
}

async function readPassword(flag: string | undefined): Promise<string | undefined> {
  if (flag === undefined) return undefined;
  if (flag !== "-")
    throw new UsageError("--password must be -, with the password on standard input: other users can see flags");
  return (await text(process.stdin)).replace(/\r?\n$/, "");
}
