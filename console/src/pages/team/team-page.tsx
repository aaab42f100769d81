/** An account's members with roles, open invitations and the history of changes. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Account, AccountKind } from "../../api/answer-types.ts";
import { useChosenAccount } from "../../data/signed-in-session.ts";
import { teamQuery } from "../../data/team.ts";
import { describeRole, ROLES } from "../../team/roles.ts";
import { Button } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { UserPlus } from "../../ui/icons.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { Invitations } from "./invitations.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { Members } from "./members.tsx";
import { TeamChanges } from "./team-changes.tsx";

export const BuilderTeamPage = () => <TeamOf kind="builder" />;
export const HostTeamPage = () => <TeamOf kind="host" />;

function TeamOf({ kind }: { kind: AccountKind }) {
  const account = useChosenAccount(kind);
  // The route requires an account. `account` is undefined only briefly, after the user was removed from the account.
  return account === undefined ? null : <TeamPage account={account} />;
}

function TeamPage({ account }: { account: Account }) {
  const team = useQuery(teamQuery(account.id));
  const [inviting, setInviting] = useState(false);
  const mayOwn = account.may.includes("own");
  return (
    <>
      <PageHeader
        title="Team"
        about={
          <>
            The people who share <strong className="font-medium text-ink">{account.name}</strong>, your {account.kind}{" "}
            account.{!mayOwn && ` Your role is ${account.role}. Only owners can invite people and change roles.`}
          </>
        }
        actions={
          mayOwn && (
            <Button look="primary" onClick={() => setInviting(true)}>
              <UserPlus aria-hidden className="size-4" />
              Invite
            </Button>
          )
        }
      />
      <PageSections>
        <Card title="Members" flush>
          <LoadedQuery query={team}>{({ members }) => <Members account={account} members={members} />}</LoadedQuery>
        </Card>
        {team.data !== undefined && team.data.invitations.length > 0 && (
          <Invitations account={account} invitations={team.data.invitations} />
        )}
        <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
          <Card title="Roles">
            <dl className="flex flex-col gap-2.5">
              {ROLES.map((role) => (
                <div key={role} className="sm:grid sm:grid-cols-[5rem_minmax(0,1fr)] sm:gap-3">
                  <dt className="font-medium">{role}</dt>
                  <dd className="text-ink-soft">{describeRole(role, account.kind)}</dd>
                </div>
              ))}
            </dl>
          </Card>
          <Card title="Recent changes" flush>
            <LoadedQuery query={team}>{({ events }) => <TeamChanges events={events} />}</LoadedQuery>
          </Card>
        </div>
      </PageSections>
      {inviting && <InviteDialog account={account} onClose={() => setInviting(false)} />}
    </>
  );
}
