/**
 * The simulated payment provider: takes payments, refunds them, lets them be disputed, and sends gateways signed
 * events. Events come late, repeatedly and in any order, until a gateway accepts them. The provider records the true
 * state of every payment.
 */
import { publicId } from "../../gateway/src/base/ids.ts";
import { pico } from "../../gateway/src/base/money.ts";
import { type PaymentEventContent, type ProviderEvent, toCents } from "../../gateway/src/payments/payment-provider.ts";
import { retryUntilDone } from "../stage/retry-until-done.ts";
import type { WorldParticipants } from "../stage/world-participants.ts";
import { WORLD_START_MS } from "../world/process-lifetime.ts";
import type { PlanItem } from "../world-plan.ts";

type PaymentItem = Extract<PlanItem, { do: "payment" }>;

const PICO_PER_CENT = 10_000_000_000n;
/** The maximum delay of an event, and the time between two steps in the life of a payment, in milliseconds. */
const NEWS_MS_MAX = 8_000;
const STEP_MS = 4_000;

export function simulatePayment(stage: WorldParticipants, item: PaymentItem): void {
  const { world, builders } = stage;
  const accountId = builders[item.account]?.id;
  if (accountId === undefined) return;
  const amount = BigInt(item.cents) * PICO_PER_CENT;
  const id = world.newId();
  const [session, payment] = [`cs_${id}`, `pi_${id}`];
  world.store.tables.payments.checkouts.set(id, {
    id,
    accountId,
    pack: "custom",
    amount,
    session,
    payment: null,
    state: "open",
  });
  const money = (part: bigint) => toCents(pico(part));
  const steps: PaymentEventContent[][] = [
    [{ kind: "session", session, reference: publicId("pay", id), payment, seen: item.seen, total: money(amount) }],
  ];
  const reverse = (reversal: "refund" | "dispute", statuses: string[]): void => {
    const told = { kind: "reversal", reversal, id: `${reversal}_${id}`, payment, amount: money(amount) } as const;
    for (const [i, status] of statuses.entries()) {
      const sum: PaymentEventContent[] =
        reversal === "refund" && i === 0 ? [{ kind: "refunded", payment, total: money(amount) }] : [];
      steps.push([{ ...told, status }, ...sum]);
    }
  };
  if (item.seen === "paid" && item.refund !== null) reverse("refund", ["pending", item.refund]);
  if (item.seen === "paid" && item.dispute !== null) reverse("dispute", ["needs_response", item.dispute]);
  const away = (item.refund === "succeeded" ? amount : 0n) + (item.dispute === "lost" ? amount : 0n);
  if (item.seen === "paid") stage.credit(accountId, amount - away);
  for (const [i, told] of steps.entries())
    world.scheduler.after(1 + i * (item.stepMs ?? STEP_MS), () => {
      const occurredAt = new Date(WORLD_START_MS + Math.floor(world.scheduler.nowMs / 1_000) * 1_000);
      for (const news of told)
        tell(stage, { id: `evt_${world.newId()}`, type: news.kind, live: true, occurredAt, news });
    });
  // Counts as an unfinished action until all events are sent, so that the simulated world does not end before.
  stage.errandsUnderWay += 1;
  world.scheduler.after(steps.length * (item.stepMs ?? STEP_MS), () => {
    stage.errandsUnderWay -= 1;
  });
  world.trace.add("provider", `sells ${amount} to ${accountId}`);
}

/** Delivers the event once, and sometimes a second time. */
function tell(stage: WorldParticipants, event: ProviderEvent): void {
  const { scheduler, trace, chance } = stage.world;
  const luck = chance.of(event.id);
  const deliver = (again: boolean): void => {
    stage.errandsUnderWay += 1;
    scheduler.after(luck.between(1, NEWS_MS_MAX), () => {
      stage.errandsUnderWay -= 1;
      retryUntilDone(stage, {
        first: luck.below(stage.machines.length),
        act: ({ receive }) => receive(event),
        done: ({ outcome }) => {
          trace.add("provider", `${event.id} ${event.type}: ${outcome}`);
          if (outcome === "mismatch" || outcome === "unknown" || outcome === "ignored")
            stage.world.fail("news of a payment are understood", `${event.id} (${event.type}): ${outcome}`);
        },
      });
    });
    if (again) deliver(false);
  };
  deliver(luck.oneIn(3));
}
