/** The models: prices, speed, availability, and the cost of a workload. */
import { useQuery } from "@tanstack/react-query";
import { liveModelsQuery } from "../../data/live-models.ts";
import { usePayoutShare } from "../../data/price-list.ts";
import { Card, PageHeader } from "../../ui/card.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { CostEstimator } from "./cost-estimator.tsx";
import { ModelTable } from "./model-table.tsx";

export function ModelsPage() {
  const models = useQuery(liveModelsQuery);
  const share = usePayoutShare();
  return (
    <>
      <PageHeader
        title="Models and prices"
        about={
          <>
            Prices are in US dollars per million tokens. The gateway counts the tokens.
            {share !== undefined && ` The host that serves a request gets ${share} of the charge.`}
          </>
        }
      />
      <PageSections>
        <Card flush>
          <LoadedQuery query={models}>{({ data }) => <ModelTable models={data} />}</LoadedQuery>
        </Card>
        {models.data !== undefined && <CostEstimator models={models.data.data} />}
      </PageSections>
    </>
  );
}
