/**
 * Checks the rules for finished requests: each has one outcome, which matches the answer and the charge, and its answer
 * comes from one attempt.
 */

import type { Uuid } from "../../gateway/src/base/ids.ts";
import { publicId, publicIdSuffix } from "../../gateway/src/base/ids.ts";
import { EMBEDDING_MODEL } from "../actors/catalogue.ts";
import type { ClientObservation } from "../actors/client.ts";
import { parseNodeUuid } from "../actors/node-ids.ts";
import type { SimulatedJob } from "../actors/simulated-job.ts";
import type { WorldParticipants } from "../stage/world-participants.ts";
import type { TokenCounting } from "../token-counting.ts";
import type { World } from "../world/world.ts";
import type { RequestPlan } from "../world-plan.ts";
import { describeWrongCharge } from "./charges.ts";

interface Facts {
  stage: WorldParticipants;
  tokens: TokenCounting;
  /**
   * Whether connections to the plane were stable: no gateway lost the plane, and no node lost it more often than
   * gateways excuse.
   */
  calmPlane: boolean;
  diskWasFull: boolean;
  /** Requests for which a hold was taken, also if it was released later. */
  held: ReadonlySet<Uuid>;
}

/** The answers that a client may get, by the outcome in the record. */
const TOLD: Record<string, string[]> = {
  ok: ["answered"],
  upstream_failed: ["upstream_failed"],
  upstream_stall: ["upstream_stall"],
  plane_lost: ["upstream_stall", "no_capacity"],
  gateway_stopped: ["upstream_stall", "no_capacity"],
  no_capacity: ["no_capacity"],
};
/** Statuses that leave no record: nothing was held, or the hold was voided without a record. */
const NO_RECORD = [400, 401, 402, 404, 413, 429, 503];

/**
 * The maximum delays: of a cancellation on its way to the node, and of a gateway that notices a silent node (silence
 * counts from 2.3 s on).
 */
const STOPPED_MS_MAX = 1_000;
const SILENCE_MS_MAX = 4_000;
/** A job that takes longer ends as a stall, for which the node is not blamed. */
const JOB_MS_MAX = 119_000;

export function auditRequests(facts: Facts): void {
  const { stage, tokens } = facts;
  const { world, sights, nodes } = stage;
  const jobs = new Map<string, SimulatedJob[]>();
  for (const node of nodes)
    for (const job of node.jobs.values()) {
      const request = job.job.slice(0, 26);
      jobs.set(request, [...(jobs.get(request) ?? []), job]);
    }
  if (world.ledgerModel.holds.size > 0)
    world.fail(
      "every hold ends",
      `${world.ledgerModel.holds.size} are left, ${[...world.ledgerModel.holds.keys()][0]} among them`,
    );
  for (const sight of sights) {
    const of = (jobs.get(publicIdSuffix(sight.id)) ?? []).sort((a, b) => (a.job < b.job ? -1 : 1));
    auditSight(world, sight, of);
    auditForm(stage, of);
    if (facts.calmPlane) auditJobs(world, sight, of);
    const record = world.ledgerModel.requests.get(sight.id);
    const refusal = world.store.tables.refusals.get(sight.id);
    // If the database became unreachable after it wrote the record, the client got a 503 instead of the recorded
    // refusal.
    const isRecorded = refusal !== undefined;
    if (sight.end === "refused" && sight.status !== 503 && (sight.status === 429) !== isRecorded)
      world.fail("every 429 is recorded, and nothing else as one", `${sight.id}: ${sight.status}, recorded ${refusal}`);
    if (record === undefined) {
      auditUnrecorded(facts, sight, of);
      continue;
    }
    auditTold(facts, sight, record.outcome);
    auditBlame(facts, record, of);
    const served = of.filter(({ nodeId }) => record.node !== null && parseNodeUuid(nodeId) === record.node);
    const host = served[0] === undefined ? null : stage.hostOf(served[0].nodeId);
    const promptTokens = promptTokensOf(sight.ask, tokens);
    const wrong = describeWrongCharge({ sight, record, promptTokens, jobs: of, served, host });
    if (wrong !== undefined)
      world.fail("every ending costs what the table says", `${sight.id} (${record.outcome}): ${wrong}`);
  }
}

function promptTokensOf(
  { model, endpoint, texts, promptWords }: RequestPlan,
  { templateTokens, textTokens }: TokenCounting,
): number {
  if (endpoint === "completion") return textTokens + promptWords;
  return model === EMBEDDING_MODEL ? texts * (textTokens + promptWords) : templateTokens + promptWords;
}

function auditSight(world: World, sight: ClientObservation, jobs: SimulatedJob[]): void {
  if (sight.saidAfterEnd) world.fail("nothing is said after the end", sight.id);
  const { text, reasoning, ask } = sight;
  if (
    !jobs.some(({ said, thought }) => said.startsWith(text) && thought.startsWith(reasoning)) &&
    text + reasoning !== ""
  )
    world.fail("what a client read is a prefix of one attempt's output", `${sight.id}: ${JSON.stringify(text)}`);
  if (ask.stop !== null && text.includes(ask.stop))
    world.fail("an answer ends before its stop string", `${sight.id}: ${JSON.stringify(text)}`);
}

function auditForm({ world, nodes }: WorldParticipants, jobs: SimulatedJob[]): void {
  for (const { job, nodeId, isFormatted } of jobs)
    if (isFormatted && nodes.find(({ id }) => id === nodeId)?.plan.formats !== true)
      world.fail("an output format is asked of nodes that keep to it", `${job} was offered to ${nodeId}`);
}

function auditUnrecorded({ stage: { world }, held }: Facts, sight: ClientObservation, jobs: SimulatedJob[]): void {
  if (sight.end === "answered") world.fail("what was answered is in the books", `${sight.id} has no record`);
  // Whether the client got an error that leaves no record and costs nothing. That is correct only if no node accepted
  // the request.
  const isTold = sight.end === "refused" && NO_RECORD.includes(sight.status ?? 0);
  if (isTold && jobs.some(({ accepted }) => accepted))
    world.fail("what a node ran is in the books", `${sight.id} was told ${sight.status} ${sight.code}`);
  if (sight.end === "refused" && !isTold)
    world.fail("what was dispatched is in the books", `${sight.id} was told ${sight.status} ${sight.code}`);
  if (sight.end === "connection lost" && held.has(sight.id) && jobs.length > 0)
    world.fail("a lost request leaves a record", `${sight.id} was held and dispatched`);
}

/** Checks that no node continues to work for a client that left, and that no client waits for a silent node. */
function auditJobs(world: World, sight: ClientObservation, jobs: SimulatedJob[]): void {
  if (sight.gatewayEndedMs !== null) return;
  for (const { job, endedMs, aliveMs, accepted } of jobs) {
    if (!accepted || endedMs === null) continue;
    if (sight.end === "left" && sight.endedMs !== null && endedMs - sight.endedMs > STOPPED_MS_MAX)
      world.fail("who left is not worked for any longer", `${job} went on for ${endedMs - sight.endedMs} ms`);
    if (endedMs - aliveMs > SILENCE_MS_MAX)
      world.fail("nobody waits for a node that says nothing", `${job}: ${endedMs - aliveMs} ms`);
  }
}

interface Outcome {
  outcome: string;
  node: Uuid | null;
}

/**
 * Checks that no record blames a node for a failure that it did not cause. A node whose connection the plane loses
 * repeatedly is excused three times.
 */
function auditBlame({ stage, calmPlane }: Facts, { outcome, node }: Outcome, jobs: SimulatedJob[]): void {
  // The platform quarantined the node, and closed its connection while an offer was in flight.
  const isCut = stage.records.some(({ id, quarantine }) => id === node && quarantine?.by === "platform");
  if (jobs.length === 0 && isCut) return;
  if (outcome !== "upstream_failed" && !(outcome === "upstream_stall" && calmPlane)) return;
  const isTooLong = ({ offeredMs, endedMs }: SimulatedJob): boolean => (endedMs ?? 0) - offeredMs >= JOB_MS_MAX;
  const isBlamed = jobs.some((job) => job.isAtFault || isTooLong(job) || !stage.isHonest(job.nodeId));
  if (!isBlamed && calmPlane)
    stage.world.fail("nobody is blamed for what the plane lost", `${jobs[0]?.job} ended as ${outcome}`);
}

function auditTold({ stage: { world }, diskWasFull }: Facts, sight: ClientObservation, outcome: string): void {
  if (sight.end === "left" || sight.end === "connection lost") return;
  // The request was refused, and its gateway died before it could release a hold that the database may have created.
  if (outcome === "gateway_lost" && sight.status === 503 && sight.gatewayEndedMs !== null) return;
  // The gateway could write to neither database nor disk, logged that loss, and then died.
  const isAdmitted = diskWasFull && world.toldUnsafe.has(publicId("req", sight.id));
  if (outcome === "gateway_lost" && isAdmitted && sight.gatewayEndedMs !== null) return;
  const told = sight.end === "answered" ? "answered" : (sight.code ?? "");
  if (!(TOLD[outcome] ?? []).includes(told))
    world.fail("a client is told how its request ended", `${sight.id} ended as ${outcome} and was told ${told}`);
}
