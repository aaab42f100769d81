/** A node's spot checks (verified real answers), with their verdicts as text. */
import type { SpotCheck, SpotCheckList } from "@tollgate/api/nodes/response-schemas.ts";
import type { z } from "zod";
import { publicId, type Uuid } from "../../base/ids.ts";
import type { SpotCheckVerdict } from "../../base/stored-enumerations.ts";
import { toUnixSeconds } from "../../base/time.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { WithOptionalTime } from "../../http/serve-routes.ts";
import type { NodeCheck } from "../../trust/spot-checks/check-reader.ts";
import type { SiteServices } from "../services.ts";
import type { NodeServices } from "./services.ts";

export type SpotChecksDependencies = Pick<NodeServices, "checks"> & Pick<SiteServices, "cursors">;

const VERDICTS: Record<SpotCheckVerdict, string> = {
  ok: "The answer is consistent with this model.",
  bad: "The answer is not consistent with this model. The check counts against the node.",
  disputed: "One verifier doubted the answer, but another did not. The check does not count.",
  unconfirmed: "One verifier doubted the answer, and no other verifier could judge it. The check counts less.",
  odd: "The request is unusual: another node's answer also seemed unlikely for this model. The check does not count.",
  unjudged: "The answer was too short, or there were too few answers to compare it with. The check does not count.",
};

export const readSpotChecksPage = (
  { checks, cursors }: SpotChecksDependencies,
  nodeId: Uuid,
  query: { cursor?: string | undefined; limit: number },
): Promise<WithOptionalTime<z.input<typeof SpotCheckList>>> =>
  listPage({
    cursors,
    list: `checks ${nodeId}`,
    query,
    read: (before, limit) => checks.list(nodeId, { before: before as Uuid | undefined, limit }),
    position: ({ id }) => id,
    show: checkObject,
  });

const checkObject = ({ requestId, model, at, method, score, verdict }: NodeCheck): z.input<typeof SpotCheck> => ({
  request_id: publicId("req", requestId),
  model,
  checked_at: toUnixSeconds(at),
  method,
  score: roundScore(score),
  verdict,
  explanation: VERDICTS[verdict],
});

/** A score with two decimals, because it is not more precise. */
export const roundScore = (score: number | null): number | null =>
  score === null ? null : Math.round(score * 100) / 100;
