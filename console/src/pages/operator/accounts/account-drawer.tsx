/** The details of one account, with operators' actions. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { PlatformAccount } from "../../../api/answer-types.ts";
import { accountQuery } from "../../../data/platform-accounts.ts";
import { Drawer, DrawerSection, IdLine, Property, PropertyList } from "../../../ui/drawer.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { AccountActions } from "./account-actions.tsx";
import { AccountKeys } from "./account-keys.tsx";
import { AccountMoneySummary, AccountState } from "./account-summary.tsx";

export function AccountDrawer({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  const account = useQuery({ ...accountQuery(id ?? ""), enabled: id !== undefined });
  return (
    <Drawer open={id !== undefined} onClose={onClose} title={account.data?.name ?? "Account"}>
      <LoadedQuery query={account}>{(found) => <Details account={found} />}</LoadedQuery>
    </Drawer>
  );
}

function Details({ account }: { account: PlatformAccount }) {
  const { id, kind, owners, members } = account;
  return (
    <div className="flex flex-col gap-6">
      <IdLine id={id} of="account" />
      <PropertyList>
        <Property name="Type">{kind}</Property>
        <Property name="State">
          <AccountState account={account} />
        </Property>
        <Property name="Owners">{owners.join(", ") || "none"}</Property>
        {members.length > 0 && (
          <Property name="Team">{members.map(({ email, role }) => `${email} (${role})`).join(", ")}</Property>
        )}
        <AccountMoneySummary account={account} />
      </PropertyList>
      <AccountActions account={account} />
      <Link to="/operator/accounts/$id" params={{ id }} className="text-accent underline-offset-2 hover:underline">
        Account page: activity, {kind === "builder" ? "statement" : "earnings, payouts"} and audit log
      </Link>
      {kind === "builder" && (
        <DrawerSection title="API keys">
          <AccountKeys accountId={id} />
        </DrawerSection>
      )}
      {kind === "host" && (
        <Link to="/operator/nodes" search={{ host: id }} className="text-accent underline-offset-2 hover:underline">
          Nodes of this host
        </Link>
      )}
    </div>
  );
}
