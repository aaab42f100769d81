/** Formats the output of `tollgate migrate --plan`. */
import { formatConnectedPrograms } from "../db/connected-programs.ts";
import type { MigrationPlan, PlannedMigration } from "../db/migration-plan.ts";
import { padVersion } from "../db/migrations.ts";

export function formatMigrationPlan({ schema, known, migrations, functions, connected }: MigrationPlan): string {
  const at = schema === 0 ? "The database has no schema yet" : `The database is at migration ${padVersion(schema)}`;
  const lines = [`${at}; this program has migrations up to ${padVersion(known)}.`];
  if (schema > known)
    lines.push("The database is newer than this program. They are compatible, and nothing is changed.");
  else if (migrations.length + functions.length === 0) lines.push("There is nothing to do.");
  const before = migrations.findLastIndex(({ phase }) => phase === "before") + 1;
  lines.push(
    ...section(
      "tollgate migrate will do this while gateways of the previous version keep running:",
      migrations.slice(0, before),
      functions,
    ),
    ...section(
      "tollgate migrate --finish will do this when no older gateway is connected:",
      migrations.slice(before),
      [],
    ),
    "",
    `Connected: ${connected.length === 0 ? "nobody" : formatConnectedPrograms(connected)}.`,
  );
  return lines.join("\n");
}

function section(title: string, migrations: PlannedMigration[], functions: string[]): string[] {
  if (migrations.length + functions.length === 0) return [];
  return [
    "",
    title,
    ...migrations.flatMap(({ name, burdens }) => [
      `  ${name}`,
      ...burdens.map(({ line, table, rows, what }) => {
        const counted = rows === undefined ? "" : ` (about ${Math.round(rows).toLocaleString("en-US")} rows)`;
        return `    line ${line}: ${table === "" ? "" : `${table}${counted}: `}${what}`;
      }),
    ]),
    ...(functions.length === 0 ? [] : [`  functions: ${functions.map((name) => `${name}()`).join(", ")}`]),
  ];
}
