/** Invitations that have not been accepted yet. */
import type { Account, Invitation } from "../../api/answer-types.ts";
import { useWithdrawInvitation } from "../../data/team.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { toast, toastError } from "../../ui/toast.tsx";

export function Invitations({ account, invitations }: { account: Account; invitations: Invitation[] }) {
  const withdraw = useWithdrawInvitation(account.id);
  const actions: Column<Invitation> = {
    title: "Actions",
    hideTitle: true,
    align: "right",
    cell: ({ id, email }) => (
      <Button
        size="small"
        aria-label={`Withdraw the invitation for ${email}`}
        busy={withdraw.isPending && withdraw.variables === id}
        onClick={() =>
          withdraw.mutate(id, {
            onSuccess: () => toast(`Withdrew the invitation for ${email}`),
            onError: toastError,
          })
        }
      >
        Withdraw
      </Button>
    ),
  };
  const columns = account.may.includes("own") ? [...COLUMNS, actions] : COLUMNS;
  return (
    <Card title="Pending invitations" flush>
      <Table label="Pending invitations" columns={columns} rows={invitations} keyOf={({ id }) => id} />
    </Card>
  );
}

const COLUMNS: Column<Invitation>[] = [
  {
    title: "Email",
    className: "max-w-0 w-full sm:w-auto sm:max-w-72",
    cell: ({ email, invited_by }) => (
      <>
        <span title={email} className="block truncate font-medium">
          {email}
        </span>
        <span title={invited_by} className="block truncate text-xs text-ink-soft">
          by {invited_by}
        </span>
      </>
    ),
  },
  { title: "Role", cell: ({ role }) => <Badge tone={role === "owner" ? "accent" : "neutral"}>{role}</Badge> },
  { title: "Expires", from: "sm", cell: ({ expires_at }) => <TimeText at={expires_at} as="day" /> },
];
