/** Models as they stand now: speed and room, read again while somebody looks. */
import { queryOptions } from "@tanstack/react-query";
import { call } from "../api/client.ts";

const READ_AGAIN_MS = 20_000;

export const liveModelsQuery = queryOptions({
  queryKey: ["live models"],
  refetchInterval: READ_AGAIN_MS,
  queryFn: () => call("GET /console/api/models"),
});
