/** `tollgate admin audit list`: prints the audit log, with the same filters as the console's page. */
import { AUDIT_OUTCOMES, AuditFilter } from "@tollgate/api/console/operator-audit.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { z } from "zod";
import { type OperatorAction, openAudit } from "../../operators/audit.ts";
import { openAuditSubjects, resolveAuditFilter } from "../../operators/audit-subjects.ts";
import type { AdminCommand, AdminRun } from "./admin-run.ts";

const ACTS_MAX = 1000;

export const auditCommands: Record<string, AdminCommand> = {
  "audit list": {
    help: `list what operators did, newest first, at most ${ACTS_MAX} actions`,
    flags: {
      operator: { value: "TEXT", help: 'part of an operator\'s email address, or "command line"' },
      action: { value: "ACTION", help: "list only actions with this name, such as account.suspend" },
      subject: { value: "ID", help: "list only actions on this account, key or node" },
      account: { value: "ACCOUNT", help: "list only actions on this account, its keys and its nodes (acc_…)" },
      outcome: { value: "OUTCOME", help: "list only actions with this outcome", oneOf: AUDIT_OUTCOMES },
      from: {
        value: "TIME",
        help: "list only actions at or after this time: 2026-11-15, 2026-11-15T06:30:00Z or Unix seconds",
      },
      to: { value: "TIME", help: "list only actions before this time" },
    },
    example: "--action account.grant --from 2026-11-01",
    run: list,
  },
};

async function list(run: AdminRun): Promise<number> {
  const asked = z.object(AuditFilter).safeParse(run.flags);
  if (!asked.success) {
    throw new UsageError(asked.error.issues.map(({ path, message }) => `--${String(path[0])} ${message}`));
  }
  const filter = await resolveAuditFilter(openAuditSubjects(run), asked.data);
  const actions = await openAudit(run).list({ ...filter, limit: ACTS_MAX });
  if (run.json) {
    const shown = actions.map(({ id: _, ...rest }) => rest);
    run.print(JSON.stringify(shown, null, 2));
    return 0;
  }
  const isFiltered = Object.keys(AuditFilter).some((flag) => run.flags[flag] !== undefined);
  const none = isFiltered ? "No action matches." : "No actions are recorded yet.";
  run.print(actions.length === 0 ? none : formatTable(COLUMNS, actions, run.terminal));
  return 0;
}

const COLUMNS: Column<OperatorAction>[] = [
  { title: "TIME", cell: ({ at }) => at.toISOString() },
  { title: "OPERATOR", cell: ({ operator }) => operator },
  { title: "ACTION", cell: ({ action }) => action },
  { title: "SUBJECT", cell: ({ subject }) => subject },
  { title: "OUTCOME", cell: ({ outcome }) => outcome ?? "?" },
  { title: "DETAILS", cell: ({ details }) => JSON.stringify(details) },
];
