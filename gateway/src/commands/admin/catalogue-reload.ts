/** `tollgate admin catalogue reload`: makes every gateway on this database read its catalog file again. */
import { CATALOGUE_TOPIC, sendBroadcast } from "../../db/broadcast.ts";
import { openAudit } from "../../operators/audit.ts";
import { type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";

export async function reloadCatalogue(run: AdminRun): Promise<number> {
  const { pool, json, print } = run;
  const act = { operator: COMMAND_LINE_ACTOR, action: "catalogue.reload", subject: "catalogue" };
  await openAudit(run).record(act, () => sendBroadcast(pool, CATALOGUE_TOPIC, "reload"));
  print(
    json ? JSON.stringify({ announced: true }) : "Every gateway reloads its catalogue; their logs show the result.",
  );
  return 0;
}
