/** Queries for the price list, which is public. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { callConsoleApi } from "../api/api-client.ts";

export const priceListQuery = queryOptions({
  queryKey: ["rates"],
  staleTime: 300_000,
  refetchInterval: 300_000,
  queryFn: () => callConsoleApi("GET /v1/catalog/rates"),
});

/** The host's share of a charge, such as "70 %"; undefined until the price list is loaded. */
export function usePayoutShare(): string | undefined {
  const { data } = useQuery(priceListQuery);
  return data && `${Math.round(data.payout_share * 100)} %`;
}
