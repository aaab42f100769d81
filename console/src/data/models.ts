/** The price sheet, which needs no key. */
import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";

export const ratesQuery = queryOptions({
  queryKey: ["rates"],
  staleTime: 300_000,
  queryFn: () => ask(api.GET("/v1/catalog/rates")),
});
