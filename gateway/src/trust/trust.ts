/**
 * Trust in nodes: records how every job ends and how fast answers come, sends canaries (questions with a known answer),
 * and quarantines bad nodes. Reasons are too many failures, a speed that the model cannot reach, and answers that the
 * model would not give. Each quarantine stores its evidence; an operator releases the node.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import {
  countFailuresBeforeJoin,
  countRefusalsFromBeforeJoin,
  QUARANTINE_FAILURES_MIN,
  QUARANTINE_JOBS_WINDOW,
} from "../base/node-trust-thresholds.ts";
import type { Random } from "../base/random.ts";
import type { AnsweredRequest, MeasuredAnswer } from "../dispatch/dispatcher.ts";
import type { PeerGateways } from "../dispatch/exchange/peer-gateways.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { Attempt } from "../dispatch/running-attempt.ts";
import type { CountsBeforeJoin, ObservedNodeCounts } from "../fleet/node-record.ts";
import type { RequestPathDependencies } from "../inference/request-path-dependencies.ts";
import { runUnpaidJob } from "../inference/unpaid-job.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import { AnswerLengthStatistics, type LengthEvidence } from "./answer-lengths.ts";
import { openCanaryRecords } from "./canary-records.ts";
import type { DrawCanary } from "./canary-source.ts";
import { countNodeEvents } from "./node-event-counter.ts";
import { startProbes } from "./probes.ts";
import { RecentRequestShapes } from "./questions/request-shapes.ts";
import type { JobEnd, QuarantineVerdict } from "./reliability.ts";
import { openReliabilityRecords } from "./reliability-records.ts";
import { TrafficRates } from "./traffic-rates.ts";

/** The least number of output tokens for a judgement of speed. */
const SPEED_TOKENS_MIN = 128;

interface TrustOptions {
  gateway: Pick<RequestPathDependencies, "dispatcher" | "meter" | "catalogue">;
  roster: Roster;
  /** Quarantines the node, given its public ID (`node_…`). */
  quarantine: (nodeId: string, verdict: QuarantineVerdict) => Promise<void>;
  /** Whether nodes are quarantined. When false, reasons are only logged and no canaries are sent. */
  automatic: boolean;
  draw: DrawCanary;
  /** Adds the counts to the nodes' records in the database. */
  record: (seen: ReadonlyMap<string, ObservedNodeCounts>) => Promise<void>;
  /** The last day's record of the node and of its host. */
  lastDay: (nodeId: string) => Promise<CountsBeforeJoin>;
  /** The other gateways, whose jobs count too. Undefined: this is the only one. */
  peers?: Pick<PeerGateways, "exchange" | "gateways">;
  newId: () => Uuid;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface RecentJobs {
  jobs: number;
  failures: number;
  jobsWindow: number;
  failuresMax: number;
}

export interface Trust {
  /** The node's recent jobs and failures over all gateways. */
  reliability(nodeId: string): RecentJobs;
  /** Whether the node's answers are unusually short, long or similar. If so, spot checks are more frequent. */
  lengthSuspicion(nodeId: string): boolean;
  lengthEvidence(nodeId: string): LengthEvidence[];
  stop(): Promise<void>;
}

export function watchNodes(options: TrustOptions): Trust {
  const { gateway, roster, automatic, clock, log, peers } = options;
  const { dispatcher } = gateway;
  const barring = new Set<string>();
  const tolerated = new Set<string>();
  const activeModel = (id: string): ActiveModel | undefined => gateway.catalogue().active.get(id);

  const suspect = (nodeId: string, verdict: QuarantineVerdict): void => {
    if (!automatic) {
      // Each verdict is logged once, because every further request would repeat it.
      const told = `${nodeId} ${verdict.reason}`;
      if (!tolerated.has(told))
        log.warn({ node: nodeId, ...verdict }, "node not quarantined: automatic quarantine is off");
      tolerated.add(told);
      return;
    }
    if (barring.has(nodeId)) return;
    barring.add(nodeId);
    options
      .quarantine(nodeId, verdict)
      .then(() => {
        records.startAnew(nodeId);
      })
      .catch((error) => log.error({ err: error, node: nodeId, ...verdict }, "could not quarantine a node"))
      .finally(() => barring.delete(nodeId));
  };

  const isDoubtful = (nodeId: string, { reason }: QuarantineVerdict): boolean =>
    reason === "failures" && records.of(nodeId).restsOnMisses;

  const records = openReliabilityRecords({
    peers,
    clock,
    judged(nodeId, verdict) {
      // Every gateway with enough evidence may quarantine the node, and only the first has an effect. If the evidence
      // depends on misses, the gateway that saw the last miss probes the node first (`confirm`), so this one does
      // nothing.
      if (!automatic || !isDoubtful(nodeId, verdict)) suspect(nodeId, verdict);
    },
  });

  /**
   * A builder can cause misses (jobs without output, although another node returned some). So the node gets a probe
   * first, and is quarantined for misses only if it fails the probe.
   */
  const confirm = async (nodeId: string, model: string, verdict: QuarantineVerdict): Promise<void> => {
    const probe = await probes.ask(nodeId, model);
    if (probe === "answered") records.forgetMisses(nodeId);
    // If the node could not be probed, the next miss triggers another probe.
    else if (probe !== "absent") suspect(nodeId, { ...verdict, evidence: { ...verdict.evidence, probe } });
  };

  const shapes = new RecentRequestShapes(options.random);
  const traffic = new TrafficRates();
  const lengths = new AnswerLengthStatistics(options.random, peers);
  const noteAnswer = ({ nodeId, model, tokens }: MeasuredAnswer, request: AnsweredRequest): void => {
    const host = options.roster.find(nodeId)?.nodeRecord.hostAccountId;
    const format = request.hasSchema ? "json_schema" : request.formatted ? "json_object" : null;
    const stops = request.sampling.stop?.length ?? 0;
    shapes.note(model, { ...request, promptTokens: tokens.prompt, stops, format });
    traffic.note(model, clock.monotonic());
    if (host === undefined || request.endpoint === "embedding") return;
    const answer = { ...request, nodeId, host, model, promptTokens: tokens.prompt, outputTokens: tokens.output };
    const evidence = lengths.note(answer);
    if (evidence !== undefined)
      log.warn({ node: nodeId, evidence }, "a node's answers differ in length from those of other nodes");
  };

  const tally = countNodeEvents({ ...options, dispatcher, activeModel, write: options.record });
  const note = (nodeId: string, modelId: string, end: JobEnd & { job: string }): void => {
    const { failure } = end;
    if (failure !== null && failure !== "prompt") tally.saw(nodeId, failure === "silent" ? "silences" : "failures");
    const verdict = records.note(nodeId, end);
    if (verdict === undefined) return;
    if (!automatic || !isDoubtful(nodeId, verdict)) {
      suspect(nodeId, verdict);
    } else {
      confirm(nodeId, modelId, verdict).catch((error) =>
        log.error({ err: error, node: nodeId }, "could not send a health probe to a node whose requests failed"),
      );
    }
  };
  /**
   * Silences whose meaning is open. If the node sends anything, each counts as a failure. If its connection ends, they
   * count as one.
   */
  const silences = new Map<string, (JobEnd & { job: string; model: string })[]>();
  const settle = (nodeId: string, failure: "silent" | "lost"): void => {
    const ends = silences.get(nodeId);
    if (ends === undefined) return;
    silences.delete(nodeId);
    for (const { model, ...end } of ends) note(nodeId, model, { ...end, failure });
  };
  dispatcher.onAttempt(({ job, node, model, state, failure: seen, acceptedAt, offeredAt, origin }) => {
    // The plane lost the connection to the node, which is no evidence about the node.
    if (state === "cut") return;
    // Refusals are counted in `onRefused`. Of jobs that were never accepted, only those without any reply from the node
    // are failures here.
    if (seen === null && (acceptedAt === null || state === "declined")) return;
    const failure = state === "cancelled" ? null : seen;
    const endedAt = clock.monotonic();
    const end = { job, failure, offeredAt, endedAt, origin: originOf(origin, activeModel(model)) };
    if (failure !== "silent") note(node.id, model, end);
    else silences.set(node.id, [...(silences.get(node.id) ?? []), { ...end, model }]);
  });
  roster.onState((nodeId) => settle(nodeId, "silent"));
  roster.onGone((nodeId) => settle(nodeId, "lost"));
  dispatcher.onRefused((nodeId, how) => {
    tally.saw(nodeId, how === "late" ? "late" : "refusals");
  });
  roster.onJoin(({ id }) => {
    options
      .lastDay(id)
      .then((lastDay) => {
        records.carry(id, countFailuresBeforeJoin(lastDay));
        roster.carryRefusals(id, countRefusalsFromBeforeJoin(lastDay));
      })
      .catch((error) => log.error({ err: error, node: id }, "could not read a node's record of the last day"));
  });
  dispatcher.onExcused((nodeId, sinceMs) => records.forgive(nodeId, sinceMs));
  dispatcher.onMeasured((measured) => {
    const model = activeModel(measured.model);
    const evidence = model === undefined ? undefined : tooFast(model, measured);
    if (evidence !== undefined) suspect(measured.nodeId, { reason: "speed", evidence });
    if (measured.request !== undefined) noteAnswer(measured, measured.request);
  });
  const probes = startProbes({
    ...options,
    dispatcher,
    activeModel,
    shapes,
    traffic,
    gateways: () => peers?.gateways() ?? 1,
    records: openCanaryRecords({
      peers,
      hostOf: (nodeId) => roster.find(nodeId)?.nodeRecord.hostAccountId,
      judged: (nodeId, evidence) => suspect(nodeId, { reason: "canary", evidence }),
    }),
    canaries: automatic,
    suspect,
    run: (job, signal) => runUnpaidJob(gateway, job, signal),
  });
  return {
    reliability: (nodeId) => ({
      ...records.of(nodeId).count(),
      jobsWindow: QUARANTINE_JOBS_WINDOW,
      failuresMax: QUARANTINE_FAILURES_MIN,
    }),
    lengthSuspicion: (nodeId) => lengths.isSuspicious(nodeId),
    lengthEvidence: (nodeId) => lengths.evidenceOf(nodeId),
    async stop() {
      await probes.stop();
      await tally.stop();
    },
  };
}

function originOf(origin: Attempt["origin"], model: ActiveModel | undefined): JobEnd["origin"] {
  if (origin === undefined) return undefined;
  const { accountId, promptTokens } = origin;
  return { accountId, contextPart: model === undefined ? 0 : promptTokens / model.contextLimit };
}

/** Measured from the offer to the last output, so that delays cannot make an honest node look fast. */
function tooFast(model: ActiveModel, { tokens, spanMs }: MeasuredAnswer): QuarantineVerdict["evidence"] | undefined {
  const counted = model.kind === "embedding" ? tokens.prompt : tokens.output;
  if (counted < SPEED_TOKENS_MIN) return undefined;
  const tokensPerSecond = Math.round((counted * 1000) / Math.max(spanMs, 1));
  if (tokensPerSecond <= model.speedMax) return undefined;
  return { model: model.id, tokens: counted, tokens_per_second: tokensPerSecond, ceiling: model.speedMax };
}
