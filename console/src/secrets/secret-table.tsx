/** Secrets, one a row: how each begins, when it was last used, and what can be done with it. */
import { MoreHorizontal, Pencil, Trash2 } from "lucide-react";
import { Badge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import type { SecretRow } from "./secret-kind.ts";

interface Props<Row extends SecretRow> {
  label: string;
  rows: Row[];
  /** What else is shown of each, after its name. */
  columns: Column<Row>[];
  onRevoke: (secret: Row) => void;
  /** Where it can be renamed. */
  onRename?: ((secret: Row) => void) | undefined;
}

export function SecretTable<Row extends SecretRow>({ label, rows, columns, onRevoke, onRename }: Props<Row>) {
  const actions: Column<Row> = {
    title: "Actions",
    hideTitle: true,
    align: "right",
    cell: (secret) => {
      if (secret.revoked_at !== null) return <Badge>revoked</Badge>;
      if (onRename !== undefined) return <ActionMenu {...{ secret, onRename, onRevoke }} />;
      return (
        <Button look="danger" size="small" aria-label={`Revoke ${secret.name}`} onClick={() => onRevoke(secret)}>
          Revoke
        </Button>
      );
    },
  };
  const all = [NAME, ...columns, LAST_USED, { ...CREATED, from: columns.length > 0 ? "xl" : "sm" }, actions] as const;
  return <Table label={label} columns={[...all]} rows={rows} keyOf={({ id }) => id} />;
}

const NAME: Column<SecretRow> = {
  title: "Name",
  className: "max-w-0 w-full @lg:w-auto @lg:max-w-64",
  cell: ({ name, start, last_used_at }) => (
    <>
      <span title={name} className="block truncate font-medium">
        {name}
      </span>
      <code className="block truncate font-mono text-xs text-ink-soft">{start}_…</code>
      <span className="text-xs text-ink-soft @2xl:hidden">
        {last_used_at === null ? "Never used" : <Time at={last_used_at} as="ago" />}
      </span>
    </>
  ),
};

const LAST_USED: Column<SecretRow> = {
  title: "Last used",
  from: "md",
  cell: ({ last_used_at }) =>
    last_used_at === null ? <span className="text-ink-soft">Never</span> : <Time at={last_used_at} as="ago" />,
};

const CREATED: Column<SecretRow> = {
  title: "Created",
  cell: ({ created_at }) => <Time at={created_at} as="day" />,
};

interface ActionProps<Row extends SecretRow> {
  secret: Row;
  onRename: (secret: Row) => void;
  onRevoke: (secret: Row) => void;
}

const ActionMenu = <Row extends SecretRow>({ secret, onRename, onRevoke }: ActionProps<Row>) => (
  <Menu
    button={
      <IconButton label={`Actions for ${secret.name}`}>
        <MoreHorizontal aria-hidden className="size-4" />
      </IconButton>
    }
  >
    <MenuItem onSelect={() => onRename(secret)}>
      <Pencil aria-hidden />
      Rename
    </MenuItem>
    <MenuItem danger onSelect={() => onRevoke(secret)}>
      <Trash2 aria-hidden />
      Revoke
    </MenuItem>
  </Menu>
);
