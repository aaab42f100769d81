/** An honest node is never quarantined; a cheating one is out within 20 jobs. */
import type { NodeKind } from "../plan.ts";
import type { Stage } from "../stage/stage.ts";
import type { NodeRecord } from "../world/store/nodes.ts";

/** These kinds of nodes fail every job. */
const FAILS_ALWAYS: NodeKind[] = ["failing", "gap", "twice", "garbage", "vectors", "accepts twice", "bad vectors"];
/** How many of its own doing each reason takes; no other reason holds for an honest node. */
const LEAST: Record<string, number> = { failures: 5, refused_prompts: 10 };
const JOBS_MAX = 20;
/** So many wrong answers prove that a node does not run a model, even to questions that one in four honest nodes gets wrong. */
const WRONG_ENOUGH = 12;
/** So many a gateway hears before it has barred a node: about each of two models, and once more after a release. */
const WRONG_MAX = 4 * WRONG_ENOUGH;

export function auditNodes(stage: Stage, { storeWasWell }: { storeWasWell: boolean }): void {
  const { world, nodes, records, machines } = stage;
  // Each gateway asks for itself, and bars a node on what it heard itself; what it knew ends with it.
  const gateways = machines.reduce((sum, { starts }) => sum + starts, 0);
  for (const [i, node] of nodes.entries()) {
    const { quarantine } = records[i] as NodeRecord;
    const jobs = [...node.jobs.values()].filter(({ accepted }) => accepted);
    for (const { job, standing, beside } of storeWasWell ? jobs.filter(({ isRequest }) => isRequest) : []) {
      if (standing === "barred") world.fail("who is barred is asked nothing", `${job} was offered to ${node.id}`);
      // Each gateway trusts it with one; what a dead one left there may still run.
      if (standing === "on probation" && beside >= gateways)
        world.fail("who is new has one request at a time", `${job} beside ${beside} others on ${node.id}`);
    }
    if (stage.isHonest(node.id) && quarantine?.by === "platform") {
      // What its own engine failed, or its own process took along, is its own; a prompt that it refuses is another matter.
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
