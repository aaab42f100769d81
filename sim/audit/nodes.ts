/** An honest node is never quarantined; a cheating one is out within 20 jobs. */
import type { NodeRecord } from "../actors/fleet.ts";
import type { NodeKind } from "../plan.ts";
import type { Stage } from "../stage/stage.ts";

/** What each of these does is a failure every time. */
const FAILS_ALWAYS: NodeKind[] = ["failing", "gap", "twice", "garbage", "vectors", "accepts twice"];
const FAILURES_MAX = 5;
const JOBS_MAX = 20;

export function auditNodes({ world, nodes, records }: Stage, { storeWasWell }: { storeWasWell: boolean }): void {
  for (const [i, node] of nodes.entries()) {
    const { quarantine } = records[i] as NodeRecord;
    const jobs = [...node.jobs.values()].filter(({ accepted }) => accepted);
    if (node.plan.kind === "honest" && quarantine?.by === "platform") {
      // What its own engine failed, or its own process took along, is its own.
      const failed = jobs.filter(({ isAtFault }) => isAtFault).length;
      if (quarantine.reason !== "failures" || failed < FAILURES_MAX)
        world.fail(
          "an honest node is never quarantined",
          `${node.id}: ${quarantine.reason}, ${failed} failures of its own`,
        );
    }
    if (!FAILS_ALWAYS.includes(node.plan.kind) || quarantine !== null || !storeWasWell) continue;
    const failed = jobs.filter(({ end }) => end === "broken" || end === "failed").length;
    if (failed > JOBS_MAX)
      world.fail(
        "a cheating node is out within 20 jobs",
        `${node.id} (${node.plan.kind}) failed ${failed} jobs and is not`,
      );
  }
}
