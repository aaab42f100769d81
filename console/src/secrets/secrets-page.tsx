/** A page that lists, creates, opens and revokes secrets of one kind. */
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { usePermissions } from "../data/signed-in-session.ts";
import { RoleNote } from "../team/role-note.tsx";
import { Button } from "../ui/button.tsx";
import { Card, PageHeader } from "../ui/card.tsx";
import { Plus } from "../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../ui/loading-states.tsx";
import type { Column } from "../ui/table.tsx";
import { CreateSecretDialog } from "./create-secret.tsx";
import { RevokeSecretDialog } from "./revoke-secret.tsx";
import { matchesSecretFilter, type SecretFilter, SecretFilterChoice } from "./secret-filter-choice.tsx";
import type { SecretKind, SecretRow } from "./secret-kind.ts";
import { SecretTable } from "./secret-table.tsx";

interface Props<Row extends SecretRow> {
  kind: SecretKind;
  query: UseQueryResult<{ data: Row[] }>;
  title: string;
  about: string;
  icon: ReactNode;
  /** Says what the first secret is needed for, while there is none. */
  purpose: string;
  columns?: Column<Row>[];
  /** Says what stops working when a secret is revoked. Not set if secrets have details, which then offer to revoke. */
  revoking?: (secret: Row) => ReactNode;
  /** Set if a click on a row opens a secret's details, which then replace the actions in the row. */
  opening?: { open: string | undefined; onOpen: (secret: Row) => void; below: (secret: Row) => ReactNode };
  /** Replaces the default dialog, which asks only for a name. */
  creating?: (dialog: { open: boolean; onClose: () => void }) => ReactNode;
}

type Task<Row> = { name: "create" } | { name: "revoke"; secret: Row };

export function SecretsPage<Row extends SecretRow>(props: Props<Row>) {
  const { kind, query, title, about, icon, purpose, columns = [], revoking, opening, creating } = props;
  const { noun, fullName } = kind;
  const [task, setTask] = useState<Task<Row>>();
  const [shown, setShown] = useState<SecretFilter>("active");
  const done = (): void => setTask(undefined);
  const mayWork = usePermissions(kind.of)("work");
  const create = mayWork && (
    <Button look="primary" onClick={() => setTask({ name: "create" })}>
      <Plus aria-hidden className="size-4" />
      Create {noun}
    </Button>
  );
  return (
    <>
      <PageHeader
        title={title}
        about={about}
        actions={
          <>
            <SecretFilterChoice
              label={`Show ${noun}s`}
              shown={shown}
              secrets={query.data?.data ?? []}
              onChange={setShown}
            />
            {create}
          </>
        }
      />
      <RoleNote kind={kind.of} need="work" />
      <Card flush>
        <LoadedQuery query={query}>
          {({ data }) => {
            const rows = data.filter((secret) => matchesSecretFilter(shown, secret));
            if (rows.length === 0 && shown === "active") {
              return (
                <EmptyState icon={icon} title={`No ${fullName}s yet`} action={create}>
                  {mayWork && `${purpose} Its secret is shown once.`}
                </EmptyState>
              );
            }
            return (
              <SecretTable
                label={title}
                rows={rows}
                columns={columns}
                opening={opening}
                onRevoke={mayWork ? (secret) => setTask({ name: "revoke", secret }) : undefined}
              />
            );
          }}
        </LoadedQuery>
      </Card>
      {creating?.({ open: task?.name === "create", onClose: done }) ?? (
        <CreateSecretDialog kind={kind} open={task?.name === "create"} onClose={done} />
      )}
      {task?.name === "revoke" && revoking !== undefined && (
        <RevokeSecretDialog kind={kind} secret={task.secret} onClose={done}>
          {revoking(task.secret)}
        </RevokeSecretDialog>
      )}
    </>
  );
}
