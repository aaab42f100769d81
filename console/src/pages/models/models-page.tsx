/** The models: prices, speed, availability, and the cost of a workload. */
import { useQuery } from "@tanstack/react-query";
import { liveModelsQuery } from "../../data/live-models.ts";
import { usePayoutShare } from "../../data/models.ts";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Sections } from "../../ui/sections.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Estimator } from "./estimator.tsx";
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
      <Sections>
        <Card flush>
          <Loaded query={models}>{({ data }) => <ModelTable models={data} />}</Loaded>
        </Card>
        {models.data !== undefined && <Estimator models={models.data.data} />}
      </Sections>
    </>
  );
}
