/**
 * Finds any request by its ID, and shows its outcome, builder, host and ledger lines. Each look-up is recorded in the
 * audit log.
 */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { PlatformRequest } from "../../../api/answer-types.ts";
import { platformRequestQuery } from "../../../data/platform-overview.ts";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { DrawerSection, Property, PropertyList } from "../../../ui/drawer.tsx";
import { Search } from "../../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { FindRequest } from "../../requests/find-request.tsx";
import { RequestDetails } from "../../requests/request-drawer.tsx";

const LINK = "text-accent underline-offset-2 hover:underline";

export function PlatformRequestsPage() {
  const { request: id } = useSearch({ from: "/app/operator/requests" });
  const navigate = useNavigate({ from: "/operator/requests" });
  const request = useQuery({ ...platformRequestQuery(id ?? ""), enabled: id !== undefined });
  return (
    <>
      <PageHeader
        title="Find a request"
        about="Look up a request of any account by its ID. Prompts and answers are never stored. The audit log records each look-up."
      />
      <PageSections>
        <div className="flex max-w-xl">
          <FindRequest onFound={(found) => void navigate({ search: { request: found } })} />
        </div>
        <Card>
          {id === undefined ? (
            <EmptyState icon={<Search aria-hidden />} title="Paste a request ID">
              Builders find the ID in the response as <code className="font-mono text-xs">x-request-id</code> or{" "}
              <code className="font-mono text-xs">id</code>.
            </EmptyState>
          ) : (
            <LoadedQuery query={request}>
              {(found) => (
                <RequestDetails request={found}>
                  <Parties of={found} />
                  <DrawerSection title="Ledger">
                    <Table label="Ledger" columns={LINES} rows={found.ledger} keyOf={({ kind }) => kind} />
                  </DrawerSection>
                  <DrawerSection title="Receipt">
                    <div className="flex items-start gap-2">
                      <pre className="max-h-64 min-w-0 flex-1 overflow-auto rounded-md border border-line bg-sunken p-3 font-mono text-xs">
                        {JSON.stringify(found.receipt, null, 2)}
                      </pre>
                      <CopyButton text={JSON.stringify(found.receipt)} label="Copy the receipt" />
                    </div>
                  </DrawerSection>
                </RequestDetails>
              )}
            </LoadedQuery>
          )}
        </Card>
      </PageSections>
    </>
  );
}

const Parties = ({ of: { account, node, host, withheld } }: { of: PlatformRequest }) => (
  <DrawerSection title="Parties">
    <PropertyList>
      <Property name="Builder">
        <AccountLink of={account} />
      </Property>
      <Property name="Host">{host === null ? "–" : <AccountLink of={host} />}</Property>
      <Property name="Node">
        {node === null ? (
          "No node accepted the request"
        ) : (
          <Link to="/operator/nodes" search={{ node: node.id }} className={LINK}>
            {node.name}
          </Link>
        )}
      </Property>
      {withheld !== null && <Property name="Host's share">withheld: {withheld.replaceAll("_", " ")}</Property>}
    </PropertyList>
  </DrawerSection>
);

const AccountLink = ({ of: { id, name } }: { of: PlatformRequest["account"] }) => (
  <Link to="/operator/accounts/$id" params={{ id }} className={LINK}>
    {name}
  </Link>
);

type LedgerLine = PlatformRequest["ledger"][number];

const KINDS: Record<LedgerLine["kind"], string> = {
  charge: "Charge",
  share: "Host's share",
  withheld: "Withheld in the reserve",
  fee: "Platform's share",
};

const LINES: Column<LedgerLine>[] = [
  { title: "Line", cell: ({ kind }) => KINDS[kind] },
  { title: "Account", cell: ({ account }) => account?.name ?? "Platform" },
  moneyColumn({ title: "Amount", of: ({ amount_micro }) => amount_micro }),
];
