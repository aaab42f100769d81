/** A table of secrets: the first characters of each, its last use, and actions. */
import type { ReactNode } from "react";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { joinClasses } from "../ui/join-classes.ts";
import { type Column, Table } from "../ui/table.tsx";
import { TimeText } from "../ui/time-text.tsx";
import type { SecretRow } from "./secret-kind.ts";

interface Props<Row extends SecretRow> {
  label: string;
  rows: Row[];
  /** Further columns, shown after the name. */
  columns: Column<Row>[];
  /** Called to revoke a secret; undefined if the user's role does not allow it. */
  onRevoke: ((secret: Row) => void) | undefined;
  /**
   * Set if a click on a row opens details, which then replace the actions in the row. `below`: shown below the name on
   * narrow screens.
   */
  opening?: { open: string | undefined; onOpen: (secret: Row) => void; below: (secret: Row) => ReactNode } | undefined;
}

export function SecretTable<Row extends SecretRow>({ label, rows, columns, onRevoke, opening }: Props<Row>) {
  const shared = { label, rows, keyOf: ({ id }: Row) => id };
  if (opening !== undefined) {
    const { open, onOpen, below } = opening;
    return (
      <Table
        {...shared}
        columns={[nameColumn(below), ...columns, { ...LAST_USED, from: "xl" }]}
        onOpen={onOpen}
        isOpen={({ id }) => id === open}
      />
    );
  }
  const actions: Column<Row> = {
    title: "Actions",
    hideTitle: true,
    align: "right",
    cell: (secret) => {
      if (secret.revoked_at !== null) return <Badge>revoked</Badge>;
      if (onRevoke === undefined) return null;
      return (
        <Button look="danger" size="small" aria-label={`Revoke ${secret.name}`} onClick={() => onRevoke(secret)}>
          Revoke
        </Button>
      );
    },
  };
  return <Table {...shared} columns={[nameColumn(), ...columns, LAST_USED, { ...CREATED, from: "sm" }, actions]} />;
}

const nameColumn = <Row extends SecretRow>(below?: (secret: Row) => ReactNode): Column<Row> => ({
  title: "Name",
  className: "max-w-0 w-full @lg:w-auto @lg:max-w-64",
  cell: (secret) => (
    <>
      <span title={secret.name} className="block truncate font-medium">
        {secret.name}
      </span>
      <code className="block truncate font-mono text-xs text-ink-soft">{secret.start}_…</code>
      <span className={joinClasses("text-xs text-ink-soft", below === undefined ? "@2xl:hidden" : "@5xl:hidden")}>
        {secret.last_used_at === null ? (
          "Never used"
        ) : (
          <>
            Used <TimeText at={secret.last_used_at} as="ago" />
          </>
        )}
      </span>
      {below?.(secret)}
    </>
  ),
});

const LAST_USED: Column<SecretRow> = {
  title: "Last used",
  from: "md",
  className: "whitespace-nowrap",
  cell: ({ last_used_at }) =>
    last_used_at === null ? <span className="text-ink-soft">Never</span> : <TimeText at={last_used_at} as="ago" />,
};

const CREATED: Column<SecretRow> = {
  title: "Created",
  cell: ({ created_at }) => <TimeText at={created_at} as="day" />,
};
