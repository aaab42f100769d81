/** The audit log, filtered by operator, action, subject and time. Entries include the names of their subjects. */
import type { auditRoutes } from "@tollgate/api/console/operator-audit.ts";
import type { CsvColumns } from "../../../base/csv.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { toUnixSeconds } from "../../../base/time.ts";
import { listPage } from "../../../http/lists/list-pages.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { OperatorAction } from "../../../operators/audit.ts";
import { type AuditSubjects, resolveAuditFilter } from "../../../operators/audit-subjects.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { SiteServices } from "../../services.ts";
import { createCsvFile } from "../csv-file.ts";

type Names = Awaited<ReturnType<AuditSubjects["named"]>>;
interface NamedAction extends OperatorAction {
  subjectName: string | undefined;
}

export function auditHandlers(
  parts: Pick<OperatorServices, "audit" | "subjects"> & Pick<SiteServices, "cursors">,
): Handlers<typeof auditRoutes> {
  const { audit, subjects, cursors } = parts;
  return {
    async listOperatorActions({ query }) {
      const filter = await resolveAuditFilter(subjects, query);
      const found = await listPage({
        cursors,
        list: "audit",
        query,
        read: (before, max) => audit.list({ ...filter, before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: (action) => action,
      });
      const names = await subjects.named(found.data.map(({ subject }) => subject));
      return { ...found, data: found.data.map((action) => actionObject(action, names)) };
    },

    async exportOperatorActions({ query }) {
      const filter = await resolveAuditFilter(subjects, query);
      return createCsvFile<NamedAction>({
        name: "audit.csv",
        columns: CSV_COLUMNS,
        async read(last, limit) {
          const rows = await audit.list({ ...filter, before: last?.id, limit });
          const names = await subjects.named(rows.map(({ subject }) => subject));
          return rows.map((row) => ({ ...row, subjectName: names.get(row.subject)?.name }));
        },
      });
    },
  };
}

const CSV_COLUMNS: CsvColumns<NamedAction> = {
  at: ({ at }) => at.toISOString(),
  operator: ({ operator }) => operator,
  action: ({ action }) => action,
  subject: ({ subject }) => subject,
  subject_name: ({ subjectName }) => subjectName,
  outcome: ({ outcome }) => outcome,
  details: ({ details }) => JSON.stringify(details),
};

function actionObject({ at, operator, action, subject, details, outcome }: OperatorAction, names: Names) {
  const { name = null, account = null } = names.get(subject) ?? {};
  return {
    object: "operator_action" as const,
    at: toUnixSeconds(at),
    operator,
    action,
    subject,
    subject_name: name,
    subject_account: account === null ? null : { id: publicId("acc", account.id), name: account.name },
    details,
    outcome,
  };
}
