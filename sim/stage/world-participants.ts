/**
 * The participants of a simulated world: machines, nodes, hosts and accounts of the plan, and the clients'
 * observations.
 */
import { publicIdSuffix, type Uuid } from "../../gateway/src/base/ids.ts";
import { makeSecret } from "../../gateway/src/keys/secret-format.ts";
import type { TokenMeter } from "../../gateway/src/metering/token-meter.ts";
import { CATALOGUE_VERSIONS } from "../actors/catalogue.ts";
import { type ClientObservation, sendRequest } from "../actors/client.ts";
import { type Deployment, PEPPER, type RunningGateway } from "../actors/gateway.ts";
import { SimNode } from "../actors/node.ts";
import { publicNodeId } from "../actors/node-ids.ts";
import type { SimulatedJob } from "../actors/simulated-job.ts";
import type { NodeRecord } from "../world/store/node-table.ts";
import type { KeyRow } from "../world/store/sql-statements.ts";
import type { World } from "../world/world.ts";
import type { AnswerScript, Plan, RequestPlan } from "../world-plan.ts";
import { GatewayMachine } from "./gateway-machine.ts";

/** The maximum duration of a request, whatever happens to it. */
const REQUEST_MS_MAX = 200_000;
/** The number of answers after which a node's probation ends. */
const TRUSTED = 20;
const BARRED_MS_MAX = 1_000;
const PLANE_MS = 8;
const STORE_MS = 6;

interface Builder {
  id: Uuid;
  key: KeyRow;
  token: string;
}

export class WorldParticipants {
  readonly world: World;
  readonly machines: GatewayMachine[];
  readonly nodes: SimNode[] = [];
  readonly records: NodeRecord[];
  readonly builders: Builder[] = [];
  readonly hosts: Uuid[] = [];
  readonly sights: ClientObservation[] = [];
  readonly limitsWhenAway: Plan["limitsWhenAway"];
  priceVersion = 1;
  /** Whether the plan is over, so that no more faults happen. */
  isHealed = false;
  /**
   * The number of actions of operators and account owners: transfers, payments, payouts, revoked keys, reloaded
   * catalogues, quarantines.
   */
  operations = 0;
  /** The number of operators' and the payment provider's actions that are not completed yet. */
  errandsUnderWay = 0;
  /** The sum of payments minus refunds of each account, as it must be once all actions are completed. */
  readonly credited: Map<Uuid, bigint> = new Map();
  readonly payoutHoldDays: number;
  readonly #scripts = new Map<string, AnswerScript>();

  constructor(world: World, plan: Plan, meter: TokenMeter) {
    this.world = world;
    this.records = world.store.tables.nodes.records;
    this.limitsWhenAway = plan.limitsWhenAway;
    this.payoutHoldDays = plan.payoutHoldDays ?? 0;
    const deployment: Deployment = {
      world,
      limitsWhenAway: plan.limitsWhenAway,
      payoutHoldDays: this.payoutHoldDays,
      catalogue: () => CATALOGUE_VERSIONS[this.priceVersion - 1] as (typeof CATALOGUE_VERSIONS)[number],
      meter,
    };
    this.machines = plan.gateways.map(({ skewMs }, number) => new GatewayMachine(deployment, { number, skewMs }));
    this.#populate(plan);
  }

  /** Returns a gateway that accepts requests: the one with this number, or the next. */
  gatewayFrom(number: number): RunningGateway | undefined {
    const { length } = this.machines;
    return this.machines
      .map((_, i) => this.machines[(number + i) % length]?.running)
      .find((running) => running?.life.hears === true);
  }

  ask(order: RequestPlan): void {
    const running = this.gatewayFrom(order.gateway);
    const builder = this.builders[order.account];
    if (running === undefined || builder === undefined) return;
    const sight = sendRequest(this.world, running, order, builder.token);
    this.sights.push(sight);
    this.#scripts.set(publicIdSuffix(sight.id), order.script);
    this.world.scheduler.after(REQUEST_MS_MAX, () => {
      if (sight.end === null)
        this.world.fail("nothing waits for ever", `${sight.id} has no end after ${REQUEST_MS_MAX} ms`);
    });
  }

  setPace({
    planeMs = PLANE_MS,
    storeMs = STORE_MS,
    replyMs,
    lossPercent = 0,
    refusalPercent = 0,
  }: {
    planeMs?: number;
    storeMs?: number;
    replyMs?: number;
    lossPercent?: number;
    refusalPercent?: number;
  } = {}): void {
    const { network, store } = this.world;
    network.delayMsMax = planeMs;
    store.delayMsMax = storeMs;
    store.replyMsMax = replyMs;
    store.lossPercent = lossPercent;
    store.refusalPercent = refusalPercent;
  }

  heal(): void {
    this.isHealed = true;
    const { network, store, trace, limitsServer } = this.world;
    trace.add("plan", "everything heals");
    this.setPace();
    store.comeBack();
    store.forgetAmbushes();
    limitsServer.comeBack();
    for (const machine of this.machines) {
      machine.disk.isFull = false;
      // Repairs the network of running gateways only. A gateway that is down restarts at its own time. Until then other
      // gateways end its holds. After its start, its settlements are entered late.
      if (machine.running !== undefined) network.healGateway(machine.running.name);
    }
    for (const node of this.nodes) node.connect();
  }

  /** Whether nothing can change the ledger any more: no client waits, and no settlement is open. */
  isQuiet(): boolean {
    if (!this.isHealed || this.errandsUnderWay > 0 || this.world.ledgerModel.holds.size > 0) return false;
    if (this.world.store.isCutOff) return false;
    if (this.machines.some(({ disk, running }) => running === undefined || disk.holds(".spool"))) return false;
    if (this.machines.some(({ running }) => running?.gateway.ledger.unsettled().length !== 0)) return false;
    return this.sights.every(({ end }) => end !== null) && this.nodes.every(({ isIdle }) => isIdle);
  }

  /** Records a payment, or a refund as a negative amount. */
  credit(accountId: Uuid, amount: bigint): void {
    this.credited.set(accountId, (this.credited.get(accountId) ?? 0n) + amount);
  }

  isHonest(nodeId: string): boolean {
    const kind = this.nodes.find(({ id }) => id === nodeId)?.plan.kind;
    return kind === "honest" || kind === "deaf";
  }

  hostOf(nodeId: string): Uuid {
    return this.records.find((record) => publicNodeId(record) === nodeId)?.accountId as Uuid;
  }

  /**
   * Returns a node's standing. A node barred a moment ago does not count as barred yet, because an offer may have been
   * in flight.
   */
  #standing({ answers, quarantine }: NodeRecord): SimulatedJob["standing"] {
    if (quarantine !== null && this.world.scheduler.nowMs - quarantine.atMs > BARRED_MS_MAX) return "barred";
    return answers < TRUSTED ? "on probation" : "trusted";
  }

  #ownedWith({ hostOwners = [] }: Plan, host: number): Uuid[] {
    return [this.builders[hostOwners[host] ?? -1]].flatMap((builder) => builder?.id ?? []);
  }

  #populate(plan: Plan): void {
    const { ledgerModel, newId, chance, store } = this.world;
    const secrets = chance.of("secrets");
    for (let i = 0; i < plan.hosts; i++) {
      const id = newId();
      ledgerModel.open(id, "host");
      this.hosts.push(id);
    }
    for (const { credit, budgetDay, ...limits } of plan.accounts) {
      const accountId = newId();
      ledgerModel.open(accountId, "builder");
      if (BigInt(credit) > 0n) ledgerModel.transfer(newId(), "grant", accountId, BigInt(credit));
      this.credit(accountId, BigInt(credit));
      const { token, reference, hash } = makeSecret("tsk", secrets, PEPPER);
      const key = { id: newId(), accountId, name: "key", reference, hash, revokedMs: null, ...limits };
      if (budgetDay !== null) ledgerModel.budgets.set(key.id, { dayMax: BigInt(budgetDay), monthMax: null });
      store.tables.keys.push(key);
      this.builders.push({ id: accountId, key, token });
    }
    for (const [i, host] of this.hosts.entries()) store.tables.payouts.ownedWith.set(host, this.#ownedWith(plan, i));
    for (const node of plan.nodes) {
      const accountId = this.hosts[node.host] as Uuid;
      const answers = chance.oneIn(2) ? TRUSTED : 0;
      const record: NodeRecord = { id: newId(), accountId, models: node.models, answers, quarantine: null };
      this.records.push(record);
      const knows = {
        scriptOf: (request: string) => this.#scripts.get(request),
        standing: () => this.#standing(record),
      };
      this.nodes.push(new SimNode(this.world, publicNodeId(record), node, knows));
    }
  }
}
