/** The user's settings: accounts, formats, password, two-factor authentication, sessions, export and deletion. */
import { useMe } from "../../data/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Fact, FactList } from "../../ui/drawer.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { AccountNames } from "./account-names.tsx";
import { ExportAndDeleteCard } from "./export-and-delete-card.tsx";
import { LocaleCard } from "./locale-card.tsx";
import { PasswordCard } from "./password-card.tsx";
import { SessionsCard } from "./sessions-card.tsx";
import { TwoFactorCard } from "./two-factor-card.tsx";

export function SettingsPage() {
  const me = useMe();
  const { identity, accounts } = me;
  return (
    <div className="max-w-3xl">
      <PageHeader title="Settings" />
      <PageSections>
        <Card title="Profile">
          <FactList>
            <Fact name="Name">{identity.name}</Fact>
            <Fact name="Email">
              {identity.email}{" "}
              {identity.email_verified && (
                <span className="ml-1">
                  <Badge tone="good">verified</Badge>
                </span>
              )}
            </Fact>
            {identity.operator && (
              <Fact name="Role">
                <Badge tone="accent">operator</Badge>
              </Fact>
            )}
          </FactList>
        </Card>
        {accounts.length > 0 && <AccountNames accounts={accounts} />}
        <LocaleCard of={identity} />
        <PasswordCard />
        <TwoFactorCard on={identity.two_factor} />
        <SessionsCard />
        <ExportAndDeleteCard me={me} />
      </PageSections>
    </div>
  );
}
