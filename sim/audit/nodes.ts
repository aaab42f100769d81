/**
 * Checks that an honest node is never quarantined for failures that it did not cause, and that a cheating node is
 * quarantined within 20 jobs.
 */

import type { WorldParticipants } from "../stage/world-participants.ts";
import type { NodeRecord } from "../world/store/node-table.ts";
import type { NodeKind } from "../world-plan.ts";

/** These kinds of nodes fail every job. */
const FAILS_ALWAYS: NodeKind[] = ["failing", "gap", "twice", "garbage", "vectors", "accepts twice", "bad vectors"];
/**
 * The minimum number of a node's own failures before it may be quarantined, by reason; no other reason may quarantine
 * an honest node.
 */
const LEAST: Record<string, number> = { failures: 5, refused_prompts: 10 };
const JOBS_MAX = 20;
/**
 * This many wrong answers prove that a node does not run its model, even with questions that one in four honest nodes
 * gets wrong.
 */
const WRONG_ENOUGH = 12;
/**
 * The maximum number of wrong answers that one gateway gets before it bars a node: for two models, and again after a
 * release from quarantine.
 */
const WRONG_MAX = 4 * WRONG_ENOUGH;

export function auditNodes(stage: WorldParticipants, { storeWasWell }: { storeWasWell: boolean }): void {
  const { world, nodes, records, machines } = stage;
  // Each gateway sends its own canaries and judges a node only by the answers that it received itself. These results
  // are lost when the gateway ends.
  const gateways = machines.reduce((sum, { starts }) => sum + starts, 0);
  for (const [i, node] of nodes.entries()) {
    const { quarantine } = records[i] as NodeRecord;
    const jobs = [...node.jobs.values()].filter(({ accepted }) => accepted);
    for (const { job, standing, beside } of storeWasWell ? jobs.filter(({ isRequest }) => isRequest) : []) {
      if (standing === "barred") world.fail("who is barred is asked nothing", `${job} was offered to ${node.id}`);
      // Each gateway sends a node on probation one request at a time; requests of a gateway that died may still run on
      // the node.
      if (standing === "on probation" && beside >= gateways)
        world.fail("who is new has one request at a time", `${job} beside ${beside} others on ${node.id}`);
    }
    if (stage.isHonest(node.id) && quarantine?.by === "platform") {
      // Failures of the node's own engine or process count against it; refused prompts are counted separately.
      const refused = jobs.filter(({ refusedPrompt }) => refusedPrompt).length;
      const failed = jobs.filter(({ isAtFault }) => isAtFault).length - refused;
      const least = LEAST[quarantine.reason] ?? Number.POSITIVE_INFINITY;
      const seen = quarantine.reason === "failures" ? failed : refused;
      if (seen < least)
        world.fail("an honest node is never quarantined", `${node.id}: ${quarantine.reason}, ${seen} of its own`);
    }
    const wrong = jobs.filter(({ isCanary, end }) => isCanary && end === "done").length;
    const wrongMax = quarantine === null ? WRONG_ENOUGH * gateways : WRONG_MAX * gateways;
    if (node.plan.kind === "constant" && storeWasWell && wrong > wrongMax)
      world.fail("who does not run the model is found out", `${node.id} gave ${wrong} answers that are those of none`);
    if (!FAILS_ALWAYS.includes(node.plan.kind) || quarantine !== null || !storeWasWell) continue;
    const failed = jobs.filter(({ end }) => end === "broken" || end === "failed").length;
    if (failed > JOBS_MAX)
      world.fail(
        "a cheating node is out within 20 jobs",
        `${node.id} (${node.plan.kind}) failed ${failed} jobs and is not`,
      );
  }
}
