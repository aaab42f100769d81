/** The user's settings: accounts, formats, password, two-factor authentication, sessions, export and deletion. */
import { useMe } from "../../data/signed-in-session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Property, PropertyList } from "../../ui/drawer.tsx";
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
          <PropertyList>
            <Property name="Name">{identity.name}</Property>
            <Property name="Email">
              {identity.email}{" "}
              {identity.email_verified && (
                <span className="ml-1">
                  <Badge tone="good">verified</Badge>
                </span>
              )}
            </Property>
            {identity.operator && (
              <Property name="Role">
                <Badge tone="accent">operator</Badge>
              </Property>
            )}
          </PropertyList>
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
