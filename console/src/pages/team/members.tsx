/** A team's members, with actions for owners and a button to leave the team. */
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Account, TeamMember } from "../../api/answer-types.ts";
import { queryClient } from "../../data/query-client.ts";
import { refreshSession, resetCache } from "../../data/signed-in-session.ts";
import { teamQuery, useRemoveMember } from "../../data/team.ts";
import { chooseHomePath } from "../../layout/navigation.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Ellipsis, LogOut, UserCog, UserMinus } from "../../ui/icons.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { TimeText } from "../../ui/time-text.tsx";
import { toast } from "../../ui/toast.tsx";
import { RoleDialog } from "./role-dialog.tsx";

type Task = { name: "role" | "remove"; member: TeamMember };

export function Members({ account, members }: { account: Account; members: TeamMember[] }) {
  const [task, setTask] = useState<Task>();
  const done = (): void => setTask(undefined);
  const owners = members.filter(({ role }) => role === "owner").length;
  const actions: Column<TeamMember> = {
    title: "Actions",
    hideTitle: true,
    align: "right",
    cell: (member) => {
      if (member.role === "owner" && owners === 1) return null;
      const start = (name: Task["name"]) => () => setTask({ name, member });
      if (account.may.includes("own")) return <Actions {...{ member, start }} />;
      return (
        member.you && (
          <Button size="small" onClick={start("remove")}>
            Leave
          </Button>
        )
      );
    },
  };
  return (
    <>
      <Table label="Members" columns={[...COLUMNS, actions]} rows={members} keyOf={({ id }) => id} />
      {task?.name === "role" && <RoleDialog account={account} member={task.member} onClose={done} />}
      {task?.name === "remove" && <RemoveDialog account={account} member={task.member} onClose={done} />}
    </>
  );
}

function Actions({ member, start }: { member: TeamMember; start: (name: Task["name"]) => () => void }) {
  return (
    <Menu
      button={
        <IconButton label={`Actions for ${member.email}`}>
          <Ellipsis aria-hidden className="size-4" />
        </IconButton>
      }
    >
      <MenuItem onSelect={start("role")}>
        <UserCog aria-hidden />
        Change role
      </MenuItem>
      <MenuItem danger onSelect={start("remove")}>
        {member.you ? <LogOut aria-hidden /> : <UserMinus aria-hidden />}
        {member.you ? "Leave" : "Remove"}
      </MenuItem>
    </Menu>
  );
}

interface DialogProps {
  account: Account;
  member: TeamMember;
  onClose: () => void;
}

function RemoveDialog({ account, member: { id, email, you }, onClose }: DialogProps) {
  const navigate = useNavigate();
  const remove = useRemoveMember(account.id);
  const confirm = (): void =>
    remove.mutate(id, {
      async onSuccess() {
        onClose();
        if (!you) {
          toast(`Removed ${email} from the team`);
          await queryClient.invalidateQueries({ queryKey: teamQuery(account.id).queryKey });
          return;
        }
        const me = await refreshSession();
        toast(`You left ${account.name}`);
        if (me !== null) await navigate({ to: chooseHomePath(me) });
        await resetCache();
      },
    });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={you ? `Leave ${account.name}?` : `Remove ${email}?`}
      action={you ? "Leave" : "Remove"}
      onConfirm={confirm}
      busy={remove.isPending}
      error={remove.error}
    >
      {you
        ? "You lose access to this account until someone invites you again."
        : "This person loses access to the account immediately. Keys and tokens that the person created keep working. Revoke keys that may have been copied."}
    </ConfirmDialog>
  );
}

const COLUMNS: Column<TeamMember>[] = [
  {
    title: "Person",
    className: "max-w-0 w-full sm:w-auto sm:max-w-72",
    cell: ({ name, email, you }) => (
      <>
        <span className="flex min-w-0 items-center gap-2">
          <span title={name} className="truncate font-medium">
            {name}
          </span>
          {you && <Badge>you</Badge>}
        </span>
        <span title={email} className="block truncate text-xs text-ink-soft">
          {email}
        </span>
      </>
    ),
  },
  { title: "Role", cell: ({ role }) => <Badge tone={role === "owner" ? "accent" : "neutral"}>{role}</Badge> },
  { title: "Since", from: "sm", cell: ({ since }) => <TimeText at={since} as="day" /> },
];
