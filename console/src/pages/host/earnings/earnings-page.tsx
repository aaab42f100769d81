/** A host's earnings over time, and per request with signed receipts. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { saveFile } from "../../../api/api-client.ts";
import { earningsQuery } from "../../../data/earnings.ts";
import { nodesQuery } from "../../../data/host-nodes-and-tokens.ts";
import { usePayoutShare } from "../../../data/price-list.ts";
import { parseMicro } from "../../../dollar-amounts.ts";
import { Card, PageHeader, Stat, StatGrid } from "../../../ui/card.tsx";
import { SelectField } from "../../../ui/form-fields.tsx";
import { HandCoins } from "../../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { MonthMenu } from "../../../ui/month-menu.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import { SaveButton } from "../../../ui/save-button.tsx";
import { makeEarningColumns } from "./earning-columns.tsx";
import { EarningsChart } from "./earnings-chart.tsx";
import { WithheldShareTable } from "./withheld-share-table.tsx";

export function EarningsPage() {
  const { node } = useSearch({ from: "/app/host/earnings" });
  const navigate = useNavigate({ from: "/host/earnings" });
  const { data: nodes } = useQuery(nodesQuery);
  const filter = node === undefined ? {} : { node };
  const earnings = useInfiniteQuery(earningsQuery(filter));
  const share = usePayoutShare();
  const nameOf = (id: string): string => nodes?.data.find((each) => each.id === id)?.name ?? id;
  return (
    <>
      <PageHeader
        title="Earnings"
        about={`You earn ${share ?? "a share"} of every charge, credited as soon as the request is settled.`}
        actions={
          <>
            <SelectField
              label="Node"
              hideLabel
              className="w-48"
              value={node ?? ""}
              options={[
                { value: "", label: "All nodes" },
                ...(nodes?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
              ]}
              onChange={({ target }) =>
                void navigate({ search: target.value === "" ? {} : { node: target.value }, replace: true })
              }
            />
            <MonthMenu
              save={(month) =>
                saveFile(`statement-${month}.pdf`, "GET /console/api/earnings.pdf", { query: { month } })
              }
            >
              Statement
            </MonthMenu>
            <SaveButton save={() => saveFile("earnings.csv", "GET /console/api/earnings.csv", { query: filter })}>
              Export CSV
            </SaveButton>
          </>
        }
      />
      <PageSections>
        <LoadedQuery query={earnings}>
          {({ pages: [newest] }) =>
            newest !== undefined && (
              <StatGrid label="Money">
                <Stat
                  label={node === undefined ? "Earned today" : `Earned today by ${nameOf(node)}`}
                  note="Since midnight UTC"
                >
                  <MoneyText of={newest.today_micro} as="balance" />
                </Stat>
                <Stat
                  label="Pending payout"
                  note={<Part of={newest.balance.held_back_micro} what="in the hold-back period" none="All nodes" />}
                >
                  <MoneyText of={newest.balance.pending_micro} as="balance" />
                </Stat>
                <Stat
                  label="Paid out"
                  note={<Part of={newest.balance.set_off_micro} what="deducted for debts (set-off)" none="All nodes" />}
                >
                  <MoneyText of={newest.balance.paid_out_micro} as="balance" />
                </Stat>
                <Stat
                  label="Total earned"
                  note={<Part of={newest.balance.own_micro} what="from your own requests" none="All nodes" />}
                >
                  <MoneyText of={newest.balance.earned_micro} as="balance" />
                </Stat>
                {parseMicro(newest.balance.withheld_micro) > 0n && (
                  <Stat label="Withheld" note="Failed or silent answers, or failed spot checks">
                    <MoneyText of={newest.balance.withheld_micro} as="balance" />
                  </Stat>
                )}
              </StatGrid>
            )
          }
        </LoadedQuery>
        <EarningsChart node={node} nameOf={nameOf} />
        <WithheldShareTable node={node} nameOf={nameOf} />
        <Card title="Requests" flush>
          <PagedTable
            query={earnings}
            label="Earnings"
            columns={makeEarningColumns(nameOf)}
            keyOf={({ request_id }) => request_id}
            empty={
              <EmptyState icon={<HandCoins aria-hidden />} title="No earnings yet">
                Requests that your nodes serve appear here.
              </EmptyState>
            }
          />
        </Card>
      </PageSections>
    </>
  );
}

/** One part of an amount, or the text `none` if the part is zero. */
function Part({ of, what, none }: { of: string; what: string; none: string }) {
  if (parseMicro(of) === 0n) return none;
  return (
    <>
      <MoneyText of={of} as="balance" /> {what}
    </>
  );
}
