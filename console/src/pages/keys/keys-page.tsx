/** A builder's API keys: what each spent, when it was last used, what it may do. */
import { useQuery } from "@tanstack/react-query";
import { KeyRound, MoreHorizontal, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { ApiKey } from "../../api/types.ts";
import { keysQuery } from "../../data/keys.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Money } from "../../ui/money.tsx";
import { isShown, RevokedChoice, type Shown } from "../../ui/revoked-choice.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Count, Time } from "../../ui/time.tsx";
import { CreateKeyDialog } from "./create-key.tsx";
import { RenameKeyDialog } from "./rename-key.tsx";
import { RevokeKeyDialog } from "./revoke-key.tsx";

type Task = { kind: "create" } | { kind: "rename" | "revoke"; key: ApiKey };

export function KeysPage() {
  const keys = useQuery(keysQuery);
  const [task, setTask] = useState<Task>();
  const [shown, setShown] = useState<Shown>("active");
  const done = (): void => setTask(undefined);
  const create = (
    <Button look="primary" onClick={() => setTask({ kind: "create" })}>
      <Plus aria-hidden className="size-4" />
      Create key
    </Button>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        about="A key's name is how its spend is attributed. Use one key per app or environment."
        actions={
          <>
            <RevokedChoice label="Which keys" shown={shown} secrets={keys.data?.data ?? []} onChange={setShown} />
            {create}
          </>
        }
      />
      <Card flush>
        <Loaded query={keys}>
          {({ data }) => {
            const rows = data.filter((secret) => isShown(shown, secret));
            if (rows.length === 0 && shown === "active") {
              return (
                <Empty icon={<KeyRound aria-hidden />} title="No API keys yet" action={create}>
                  Create one to make your first request. Its secret is shown once.
                </Empty>
              );
            }
            return <Table label="API keys" columns={columns(setTask)} rows={rows} keyOf={({ id }) => id} />;
          }}
        </Loaded>
      </Card>
      <CreateKeyDialog open={task?.kind === "create"} onClose={done} />
      {task?.kind === "rename" && <RenameKeyDialog apiKey={task.key} onClose={done} />}
      {task?.kind === "revoke" && <RevokeKeyDialog apiKey={task.key} onClose={done} />}
    </>
  );
}

function columns(setTask: (task: Task) => void): Column<ApiKey>[] {
  return [
    {
      title: "Name",
      className: "max-w-0 w-full sm:w-auto sm:max-w-64",
      cell: ({ name, start, last_used_at }) => (
        <>
          <span title={name} className="block truncate font-medium">
            {name}
          </span>
          <code className="block truncate font-mono text-xs text-ink-soft">{start}_…</code>
          <span className="text-xs text-ink-soft md:hidden">
            {last_used_at === null ? "Never used" : <Time at={last_used_at} as="ago" />}
          </span>
        </>
      ),
    },
    {
      title: "Spend this month",
      align: "right",
      cell: ({ spend_this_month: { charge_micro, requests } }) => (
        <>
          <Money of={charge_micro} />
          <span className="block text-xs text-ink-soft">
            <Count of={requests} /> {requests === 1 ? "request" : "requests"}
          </span>
        </>
      ),
    },
    {
      title: "Limits",
      from: "lg",
      cell: ({ limits }) => (
        <span className="text-xs text-ink-soft">
          <Count of={limits.requests_per_minute} /> requests/min · <Count of={limits.tokens_per_minute} /> tokens/min
          <span className="block">
            <Count of={limits.in_flight} /> at once
          </span>
        </span>
      ),
    },
    {
      title: "Last used",
      from: "md",
      cell: ({ last_used_at }) =>
        last_used_at === null ? <span className="text-ink-soft">Never</span> : <Time at={last_used_at} as="ago" />,
    },
    { title: "Created", from: "xl", cell: ({ created_at }) => <Time at={created_at} as="day" /> },
    {
      title: "Actions",
      hideTitle: true,
      align: "right",
      cell: (key) =>
        key.revoked_at === null ? (
          <Menu
            button={
              <IconButton label={`Actions for ${key.name}`}>
                <MoreHorizontal aria-hidden className="size-4" />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => setTask({ kind: "rename", key })}>
              <Pencil aria-hidden />
              Rename
            </MenuItem>
            <MenuItem danger onSelect={() => setTask({ kind: "revoke", key })}>
              <Trash2 aria-hidden />
              Revoke
            </MenuItem>
          </Menu>
        ) : (
          <Badge>revoked</Badge>
        ),
    },
  ];
}
