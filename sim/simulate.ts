/**
 * Runs one simulated world from its start to its audit: builds it from a plan, carries out the plan, heals everything,
 * and checks the result.
 */
import type { Uuid } from "../gateway/src/base/ids.ts";
import { LeasesAudit } from "./audit/leases.ts";
import { LedgerAudit } from "./audit/ledger.ts";
import { auditLimits, auditMinuteLimits } from "./audit/limits.ts";
import { auditMoney, auditPayouts, auditSetOffs } from "./audit/money.ts";
import { auditNodes } from "./audit/nodes.ts";
import { auditRequests } from "./audit/requests.ts";
import { performItem } from "./stage/perform-item.ts";
import { WorldParticipants } from "./stage/world-participants.ts";
import type { TokenCounting } from "./token-counting.ts";
import type { FaultCounts } from "./world/fault-counts.ts";
import { forbidRealTimeAndRandomness } from "./world/real-time-guard.ts";
import { type Violation, World } from "./world/world.ts";
import type { Plan } from "./world-plan.ts";

/** The time in which gateways start and discover the nodes before the first request, in milliseconds. */
const LEAD_MS = 3_000;
/**
 * The time after the plan, in milliseconds, in which everything is healed and everything open must be settled: leases,
 * sweeps, spools (settlements waiting on disk) of other gateways.
 */
const HEALING_MS = 330_000;
/**
 * Most worlds end after this many checks that find no waiting client and no open settlement: later only probes of idle
 * nodes would follow.
 */
const QUIET_LOOKS = 30;
const LOOK_EVERY_MS = 1_000;
/** How many lost connections gateways excuse per node. */
const EXCUSES_MAX = 3;

export interface WorldOutcome {
  violation: Pick<Violation, "rule" | "message"> | undefined;
  hash: string;
  steps: number;
  virtualMs: number;
  requests: number;
  faults: FaultCounts;
  /**
   * The number of actions of operators and account owners: transfers, payments, payouts, revoked keys, reloaded
   * catalogues, quarantines.
   */
  operations: number;
  trace: string[];
  /** The number of requests by outcome. */
  outcomes: Record<string, number>;
}

interface SimulateOptions {
  keepsTrace?: boolean;
  /** Called with the new world before its first event. */
  begun?: (world: World) => void;
}

export async function simulateWorld(
  plan: Plan,
  tokens: TokenCounting,
  { keepsTrace = false, begun }: SimulateOptions = {},
): Promise<WorldOutcome> {
  const guard = forbidRealTimeAndRandomness();
  const world = new World(plan.seed, { keepsTrace });
  const onRejection = (error: unknown): void =>
    world.fail("no promise is left to fail alone", (error as Error)?.stack ?? String(error));
  process.on("unhandledRejection", onRejection);
  try {
    const stage = new WorldParticipants(world, plan, tokens.meter);
    begun?.(world);
    await live(stage, plan, tokens);
    if (guard.attempts.length > 0)
      world.fail("nothing in the simulated world reaches outside", [...new Set(guard.attempts)].join(", "));
    return outcomeOf(stage);
  } finally {
    process.off("unhandledRejection", onRejection);
    guard.lift();
  }
}

async function live(stage: WorldParticipants, plan: Plan, tokens: TokenCounting): Promise<void> {
  const { world } = stage;
  const { scheduler, ledgerModel } = world;
  const has = (pattern: RegExp): boolean => plan.items.some(({ do: what }) => pattern.test(what));
  const storeWasWell = !has(/^store/);
  const booksAudit = new LedgerAudit(world);
  const leasesAudit = new LeasesAudit(stage);
  /** Requests for which a hold was taken, also if it was released later. */
  const held = new Set<Uuid>();
  world.committed = (text) => {
    if (text.includes("ledger_hold")) for (const id of ledgerModel.holds.keys()) held.add(id);
    if (text.includes("ledger_sweep")) leasesAudit.look();
    if (text.includes("payout_create")) auditSetOffs(stage);
    if (text.includes("payout_")) auditPayouts(stage);
    if (text.includes("ledger_") || text.includes("payout_") || text === "commit") booksAudit.look();
  };
  for (const machine of stage.machines) machine.start();
  for (const node of stage.nodes) scheduler.after(500, () => node.connect());
  for (const item of plan.items) scheduler.after(LEAD_MS + item.atMs, () => performItem(stage, item));
  scheduler.after(LEAD_MS + plan.endMs, () => stage.heal());
  let quietLooks = 0;
  if (!plan.livesOn)
    scheduler.every(LOOK_EVERY_MS, () => {
      quietLooks = stage.isQuiet() ? quietLooks + 1 : 0;
    });
  const isWrong = (): boolean => world.violation !== undefined;
  await scheduler.until(LEAD_MS + plan.endMs + HEALING_MS, () => {
    auditLimits(stage, { storeWasWell });
    return isWrong() || quietLooks >= QUIET_LOOKS;
  });
  if (isWrong()) return;
  booksAudit.lookAtAll();
  auditMoney(stage);
  // To a waiting client, a lost connection that the plane did not notice looks like silence. The audit of nodes checks
  // that no node is barred for it.
  const cuts = plan.items.filter((item) => item.do === "cut node");
  const areBelieved = cuts.length <= EXCUSES_MAX && cuts.every((item) => item.how !== "moved");
  const calmPlane = !has(/cut gateway|slow plane/) && areBelieved;
  auditRequests({ stage, tokens, held, calmPlane, diskWasFull: has(/disk full/) });
  auditMinuteLimits(stage, { storeWasWell });
  auditNodes(stage, { storeWasWell });
}

function outcomeOf({ world, sights, machines, operations }: WorldParticipants): WorldOutcome {
  const { trace, scheduler, violation, ledgerModel, faults } = world;
  faults["write refused"] = machines.reduce((sum, { disk }) => sum + disk.refused, 0);
  const outcomes: Record<string, number> = {};
  const count = (name: string): void => {
    outcomes[name] = (outcomes[name] ?? 0) + 1;
  };
  for (const { outcome } of ledgerModel.requests.values()) count(outcome);
  for (const { end, status } of sights) count(end === "refused" ? `told ${status}` : `client: ${end}`);
  return {
    violation: violation && { rule: violation.rule, message: violation.message },
    hash: trace.digest(),
    steps: scheduler.step,
    virtualMs: scheduler.nowMs,
    requests: sights.length,
    faults,
    operations,
    trace: trace.lines,
    outcomes,
  };
}
