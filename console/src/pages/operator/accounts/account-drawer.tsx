/** One account, and what an operator can do with it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { PlatformAccount } from "../../../api/types.ts";
import { accountQuery } from "../../../data/platform-accounts.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { Drawer, Fact, Facts, IdLine } from "../../../ui/drawer.tsx";
import { Money } from "../../../ui/money.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { AccountKeys } from "./account-keys.tsx";
import { GrantDialog } from "./grant.tsx";
import { SuspensionDialog } from "./suspension.tsx";

export function AccountDrawer({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  const account = useQuery({ ...accountQuery(id ?? ""), enabled: id !== undefined });
  return (
    <Drawer open={id !== undefined} onClose={onClose} title={account.data?.name ?? "Account"}>
      <Loaded query={account}>{(found) => <Details account={found} />}</Loaded>
    </Drawer>
  );
}

function Details({ account }: { account: PlatformAccount }) {
  const [task, setTask] = useState<"grant" | "suspension">();
  const { id, kind, owners, members, balance_micro, held_micro, suspended_at, created_at } = account;
  const done = (): void => setTask(undefined);
  return (
    <div className="flex flex-col gap-6">
      <IdLine id={id} of="account" />
      <Facts>
        <Fact name="Type">{kind}</Fact>
        <Fact name="State">
          {suspended_at === null ? (
            <Badge tone="good">active</Badge>
          ) : (
            <>
              <Badge tone="bad">suspended</Badge> <Time at={suspended_at} as="full" />
            </>
          )}
        </Fact>
        <Fact name="Owners">{owners.join(", ") || "none"}</Fact>
        {members.length > 0 && (
          <Fact name="Team">{members.map(({ email, role }) => `${email} (${role})`).join(", ")}</Fact>
        )}
        <Fact name={kind === "host" ? "Owed" : "Balance"}>
          <Money of={balance_micro} exact />
        </Fact>
        {kind === "builder" && (
          <Fact name="Held">
            <Money of={held_micro} exact />
          </Fact>
        )}
        <Fact name="Created">
          <Time at={created_at} as="full" />
        </Fact>
      </Facts>
      <div className="flex flex-wrap gap-2">
        {kind === "builder" && <Button onClick={() => setTask("grant")}>Grant credit</Button>}
        <Button look={suspended_at === null ? "danger" : "plain"} onClick={() => setTask("suspension")}>
          {suspended_at === null ? "Suspend" : "Restore"}
        </Button>
      </div>
      {kind === "builder" && <AccountKeys accountId={id} />}
      {kind === "host" && (
        <Link to="/operator/nodes" search={{ host: id }} className="text-accent underline-offset-2 hover:underline">
          Nodes of this host
        </Link>
      )}
      {task === "grant" && <GrantDialog account={account} onClose={done} />}
      {task === "suspension" && <SuspensionDialog account={account} onClose={done} />}
    </div>
  );
}
