/** `tollgate admin catalogue reload`: every gateway on this database reads its catalogue file again. */
import { announce, CATALOGUE_TOPIC } from "../../db/broadcast.ts";
import type { AdminRun } from "./admin-run.ts";

export async function catalogueReload({ pool, json, print }: AdminRun): Promise<number> {
  await announce(pool, CATALOGUE_TOPIC, "reload");
  print(json ? JSON.stringify({ announced: true }) : "Told every gateway to read its catalogue again; see their logs.");
  return 0;
}
