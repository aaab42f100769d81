/** Carries out the items of a plan: requests, faults, operators' actions. */
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { pico } from "../../gateway/src/base/money.ts";
import { NODE_TOPIC } from "../../gateway/src/db/broadcast.ts";
import { SECRET_CHANGE_TOPICS } from "../../gateway/src/keys/secret-store.ts";
import type { PayoutBatches } from "../../gateway/src/operators/payouts.ts";
import { CATALOGUE_VERSIONS } from "../actors/catalogue.ts";
import { simulatePayment } from "../actors/payment-provider.ts";
import type { PlanItem } from "../world-plan.ts";
import { retryUntilDone } from "./retry-until-done.ts";
import type { WorldParticipants } from "./world-participants.ts";

/** The function that carries out each kind of item. Returns false if a fault found nothing to strike. */
type Deeds = {
  [Do in PlanItem["do"]]: (stage: WorldParticipants, item: Extract<PlanItem, { do: Do }>) => boolean | undefined;
};

const DEEDS: Deeds = {
  ask: (stage, { ask }) => void stage.ask(ask),
  "crash gateway": (stage, item) => stage.machines[item.gateway]?.crash(item) === true,
  "drain gateway": (stage, item) => stage.machines[item.gateway]?.drain(item) === true,
  "crash node": (stage, { node, downMs }) => stage.nodes[node]?.crash(downMs) === true,
  "cut node": (stage, { node, how, downMs }) => stage.nodes[node]?.cut(how, downMs) === true,
  "cut gateway": (stage, { gateway, downMs }) => {
    const { network } = stage.world;
    const name = stage.machines[gateway]?.running?.name;
    if (name === undefined || !network.cutGateway(name)) return false;
    return later(stage, downMs, () => network.healGateway(name));
  },
  "slow plane": (stage, { delayMsMax, forMs }) => {
    stage.setPace({ planeMs: delayMsMax });
    later(stage, forMs, () => stage.setPace());
  },
  "store away": (stage, { forMs }) => {
    const { store } = stage.world;
    return store.goAway() && later(stage, forMs, () => store.comeBack());
  },
  "store cut": (stage, { gateway, forMs }) => {
    const { store, scheduler } = stage.world;
    if (!store.cut(gateway)) return false;
    // The cut is not healed early with everything else, because it must outlast a lease.
    scheduler.after(forMs, () => store.mend(gateway));
    return true;
  },
  "store loses": (stage, { percent, forMs }) => {
    stage.setPace({ lossPercent: percent });
    later(stage, forMs, () => stage.setPace());
  },
  "store slow": (stage, { delayMsMax, forMs }) => {
    stage.setPace({ storeMs: delayMsMax });
    later(stage, forMs, () => stage.setPace());
  },
  "store crashes": (stage, { forMs }) => {
    const { store } = stage.world;
    return store.crash() && later(stage, forMs, () => store.comeBack());
  },
  "store fails over": (stage, { hangMs, forMs }) => {
    const { store } = stage.world;
    if (!store.losePrimary()) return false;
    later(stage, hangMs, () => store.promote());
    return later(stage, hangMs + forMs, () => store.comeBack());
  },
  "store answers late": (stage, { delayMsMax, forMs }) => {
    stage.setPace({ replyMs: delayMsMax });
    later(stage, forMs, () => stage.setPace());
  },
  "store refuses": (stage, { percent, forMs }) => {
    stage.setPace({ refusalPercent: percent });
    later(stage, forMs, () => stage.setPace());
  },
  "crash at commit": (stage, { gateway, of, downMs, powerLoss }) => {
    const machine = stage.machines[gateway];
    if (machine === undefined) return false;
    stage.world.store.ambush(gateway, of, () => machine.crash({ fuse: 0, downMs, powerLoss }));
  },
  "disk full": (stage, { gateway, forMs }) => {
    const disk = stage.machines[gateway]?.disk;
    if (disk === undefined || disk.isFull) return false;
    disk.isFull = true;
    return later(stage, forMs, () => {
      disk.isFull = false;
    });
  },
  "limits away": (stage, { how, forMs }) => {
    const { limitsServer } = stage.world;
    const isStruck = how === "hangs" ? limitsServer.hang() : limitsServer.die();
    return isStruck && later(stage, forMs, () => limitsServer.comeBack());
  },
  transfer: (stage, { account, kind, amount }) => {
    const builder = stage.builders[account];
    if (builder !== undefined) transfer(stage, { kind, accountId: builder.id, amount: BigInt(amount) });
  },
  payment: (stage, item) => void simulatePayment(stage, item),
  "payout batch": (stage, { minimum }) => void payOut(stage, BigInt(minimum)),
  "revoke key": (stage, { account }) => {
    const key = stage.builders[account]?.key;
    if (key === undefined || key.revokedMs !== null) return;
    key.revokedMs = stage.world.scheduler.nowMs;
    stage.world.store.announce(SECRET_CHANGE_TOPICS.api_key, key.id);
  },
  "reload catalogue": (stage) => {
    stage.priceVersion = Math.min(CATALOGUE_VERSIONS.length, stage.priceVersion + 1);
  },
  "quarantine node": (stage, { node: index, forMs }) => {
    const { store, network, scheduler } = stage.world;
    const [record, node] = [stage.records[index], stage.nodes[index]];
    if (record === undefined || node === undefined || record.quarantine !== null) return;
    record.quarantine = { reason: "operator", evidence: {}, by: "an operator", atMs: scheduler.nowMs };
    store.announce(NODE_TOPIC, node.id);
    scheduler.after(forMs, () => {
      record.quarantine = null;
      network.pardon(node.id);
      store.announce(NODE_TOPIC, node.id);
      scheduler.after(500, () => node.connect());
    });
  },
};

/** Items that are actions of operators and account owners. All other items except requests are faults. */
const OPERATIONS: PlanItem["do"][] = [
  "transfer",
  "payment",
  "payout batch",
  "revoke key",
  "reload catalogue",
  "quarantine node",
];

export function performItem(stage: WorldParticipants, item: PlanItem): void {
  if (item.do !== "ask") stage.world.trace.add("plan", JSON.stringify(item));
  const isStruck =
    (DEEDS[item.do] as (stage: WorldParticipants, item: PlanItem) => boolean | undefined)(stage, item) !== false;
  if (item.do === "ask") return;
  if (OPERATIONS.includes(item.do)) stage.operations += 1;
  else if (isStruck) stage.world.faults.struck += 1;
}

/** Runs an action later, unless everything was healed before. */
function later(stage: WorldParticipants, ms: number, run: () => void): true {
  stage.world.scheduler.after(ms, () => {
    if (!stage.isHealed) run();
  });
  return true;
}

interface Move {
  kind: "grant" | "purchase" | "refund" | "dispute";
  accountId: Uuid;
  amount: bigint;
}

function transfer(stage: WorldParticipants, { kind, accountId, amount }: Move): void {
  const { trace, newId } = stage.world;
  const order = { id: newId(), kind, accountId, amount: pico(amount), reason: "simulated" };
  stage.credit(accountId, kind === "grant" || kind === "purchase" ? amount : -amount);
  retryUntilDone(stage, {
    first: 0,
    act: ({ gateway }) => gateway.ledger.transfer(order),
    done: (outcome) => trace.add("operator", `${kind} of ${amount} for ${accountId}: ${outcome}`),
  });
}

/**
 * Creates a batch and marks every open batch as paid. Reads the open batches from the database, because the answer to
 * an earlier creation may have been lost.
 */
function payOut(stage: WorldParticipants, minimum: bigint): void {
  const { trace, store } = stage.world;
  retryUntilDone(stage, {
    first: 0,
    act: ({ payouts }) => payouts.create({ note: "simulated", by: "operator", minimum: pico(minimum) }),
    done: (batch) => {
      trace.add("operator", `a batch: ${batch?.total} to ${batch?.hosts}, ${batch?.setOff} set off`);
      for (const { id, paidMs } of [...store.tables.payouts.batches.values()])
        if (paidMs === null)
          retryUntilDone(stage, {
            first: 0,
            act: ({ payouts }) => payouts.markPaid(id, "operator"),
            done: told(stage, id),
          });
    },
  });
}

const told =
  (stage: WorldParticipants, id: Uuid) =>
  (outcome: Awaited<ReturnType<PayoutBatches["markPaid"]>>): void => {
    if (outcome !== "paid" && outcome !== "repeated")
      stage.world.fail("a batch can be paid", `${id}: ${JSON.stringify(outcome)}`);
  };
