/** A host's tokens: what its machines show to the platform. */
import { useQuery } from "@tanstack/react-query";
import { Plus, Ticket } from "lucide-react";
import { useState } from "react";
import type { HostToken } from "../../../api/host-types.ts";
import { hostTokensQuery } from "../../../data/host.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { isShown, RevokedChoice, type Shown } from "../../../ui/revoked-choice.tsx";
import { Empty, Loaded } from "../../../ui/states.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { Time } from "../../../ui/time.tsx";
import { CreateTokenDialog } from "./create-token.tsx";
import { RevokeTokenDialog } from "./revoke-token.tsx";

export function TokensPage() {
  const tokens = useQuery(hostTokensQuery);
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<HostToken>();
  const [shown, setShown] = useState<Shown>("active");
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      <Plus aria-hidden className="size-4" />
      Create token
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Host tokens"
        about="A machine shows its token to the platform. Whoever has it can serve in your name: one per machine, and revoke it when a machine is lost."
        actions={
          <>
            <RevokedChoice label="Which tokens" shown={shown} secrets={tokens.data?.data ?? []} onChange={setShown} />
            {create}
          </>
        }
      />
      <Card flush>
        <Loaded query={tokens}>
          {({ data }) => {
            const rows = data.filter((secret) => isShown(shown, secret));
            return rows.length === 0 && shown === "active" ? (
              <Empty icon={<Ticket aria-hidden />} title="No host tokens" action={create}>
                Create one to log a machine in. Its secret is shown once.
              </Empty>
            ) : (
              <Table label="Host tokens" columns={columns(setRevoking)} rows={rows} keyOf={({ id }) => id} />
            );
          }}
        </Loaded>
      </Card>
      <CreateTokenDialog open={creating} onClose={() => setCreating(false)} />
      {revoking !== undefined && <RevokeTokenDialog token={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  );
}

function columns(onRevoke: (token: HostToken) => void): Column<HostToken>[] {
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
            <LastUsed at={last_used_at} />
          </span>
        </>
      ),
    },
    { title: "Last used", from: "md", cell: ({ last_used_at }) => <LastUsed at={last_used_at} /> },
    { title: "Created", from: "sm", cell: ({ created_at }) => <Time at={created_at} as="day" /> },
    {
      title: "Actions",
      hideTitle: true,
      align: "right",
      cell: (token) =>
        token.revoked_at === null ? (
          <Button look="danger" size="small" aria-label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ) : (
          <Badge>revoked</Badge>
        ),
    },
  ];
}

const LastUsed = ({ at }: { at: number | null }) =>
  at === null ? <span className="text-ink-soft">Never used</span> : <Time at={at} as="ago" />;
