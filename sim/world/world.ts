/** The parts of a simulated world besides its participants: time, randomness, the plane, the database, the trace. */

import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { newIds, type Uuid } from "../../gateway/src/base/ids.ts";
import { RecordedCanaries } from "../../gateway/src/trust/testing.ts";
import { EventTrace } from "./event-trace.ts";
import { createFaultCounts, type FaultCounts } from "./fault-counts.ts";
import { LimitsServer } from "./limits-server.ts";
import { Network } from "./network.ts";
import { WORLD_START_MS } from "./process-lifetime.ts";
import { Scheduler } from "./scheduler.ts";
import { LedgerModel } from "./store/ledger-model.ts";
import { NodeTable } from "./store/node-table.ts";
import { PaymentTables } from "./store/payments.ts";
import { PayoutModel } from "./store/payouts.ts";
import { SimulatedDatabase } from "./store/simulated-database.ts";

/** The error of a broken rule, which ends the run. */
export class Violation extends Error {
  override name = "Violation";
  readonly rule: string;
  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

export class World {
  readonly chance: SeededRandom;
  readonly scheduler = new Scheduler();
  readonly trace: EventTrace;
  readonly network: Network;
  readonly ledgerModel: LedgerModel;
  readonly store: SimulatedDatabase;
  readonly limitsServer: LimitsServer;
  readonly newId: () => Uuid;
  /** Called after every statement that took effect. */
  committed: (text: string) => void = () => {};
  /**
   * Requests (`req_…`) that a gateway answered although it could write their settlement to neither database nor disk,
   * as its log reported.
   */
  readonly toldUnsafe = new Set<string>();
  /** The answers to the canaries that gateways generate. Simulated nodes have no model, so they read them here. */
  readonly answers = new RecordedCanaries();
  readonly faults: FaultCounts = createFaultCounts();
  /** The first broken rule of this run, if any. */
  violation: Violation | undefined;

  constructor(seed: number, { keepsTrace }: { keepsTrace: boolean }) {
    const { scheduler } = this;
    this.chance = new SeededRandom(String(seed));
    this.trace = new EventTrace(scheduler, { keepsAll: keepsTrace });
    this.network = new Network(scheduler, this.chance.of("network"));
    this.limitsServer = new LimitsServer(scheduler, this.chance.of("limits"));
    const now = (): number => WORLD_START_MS + scheduler.nowMs;
    this.ledgerModel = new LedgerModel(now);
    const clock = { now } as Parameters<typeof newIds>[0];
    this.newId = newIds(clock, this.chance.of("ids"));
    const { ledgerModel } = this;
    const payouts = new PayoutModel({ ledgerModel, newId: newIds(clock, this.chance.of("payouts")), now });
    this.store = new SimulatedDatabase({
      tables: {
        ledgerModel,
        keys: [],
        refusals: new Map(),
        nodes: new NodeTable(() => scheduler.nowMs),
        payments: new PaymentTables(),
        payouts,
      },
      scheduler,
      chance: this.chance.of("store"),
      committed: (text) => this.committed(text),
      lost: (how) => {
        this.faults[how] += 1;
      },
    });
  }

  fail(rule: string, detail: string): void {
    if (this.violation !== undefined) return;
    this.violation = new Violation(rule, detail);
    this.trace.add("auditor", this.violation.message);
  }
}
