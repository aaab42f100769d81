/** Models as they stand now: speed and room, read again while somebody looks. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "../api/client.ts";
import { figures } from "../api/figures.ts";

const READ_AGAIN_MS = 20_000;

export const liveModelsQuery = queryOptions({
  queryKey: ["live models"],
  refetchInterval: READ_AGAIN_MS,
  queryFn: () => ask(figures.GET("/console/api/models")),
});
