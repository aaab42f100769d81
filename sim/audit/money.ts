/**
 * Computes the balances of all accounts from the requests, payments and payouts, and compares them with the ledger's. A
 * builder's balance is its payments minus its charges. A host's balance is its shares minus its payouts. A host gets no
 * share of a charge that was paid with credit granted to the host's owner. The debts of an owner's builder accounts are
 * deducted from the balances of the same owner's hosts before a payout.
 */
import type { Uuid } from "../../gateway/src/base/ids.ts";
import type { WorldParticipants } from "../stage/world-participants.ts";
import { WORLD_START_MS } from "../world/process-lifetime.ts";

/**
 * Runs after every statement about payouts. Checks that each host's balance covers its unpaid payouts, and that no
 * payout contains earnings that must still be held back.
 */
export function auditPayouts({ world, hosts, payoutHoldDays }: WorldParticipants): void {
  const { payouts } = world.store.tables;
  const balanceOf = (id: Uuid): bigint => world.ledgerModel.accounts.get(id)?.balance ?? 0n;
  const promised = new Map<Uuid, bigint>();
  for (const { id, paidMs, lines } of payouts.batches.values())
    for (const { account, amount } of lines) {
      if (paidMs === null) promised.set(account, (promised.get(account) ?? 0n) + amount);
      if (amount > 0n && payoutHoldDays > 0)
        world.fail("what was earned just now is held back", `${amount} of ${account} in batch ${id}`);
    }
  for (const host of hosts) {
    const free = balanceOf(host) - (promised.get(host) ?? 0n);
    if (free < 0n)
      world.fail("what batches promise is there", `${host}: ${balanceOf(host)}, ${-free} more is promised`);
  }
}

/**
 * Runs when a payout batch is created. Checks that the hosts of an owner in debt have no balance beyond the amounts
 * that earlier batches will pay them.
 */
export function auditSetOffs({ world, hosts }: WorldParticipants): void {
  const { payouts } = world.store.tables;
  const nowMs = WORLD_START_MS + world.scheduler.nowMs;
  const batches = [...payouts.batches.values()];
  const lines = batches.flatMap(({ createdMs, paidMs, lines: all }) =>
    all.map((line) => ({ ...line, isNew: createdMs === nowMs, isOpen: paidMs === null })),
  );
  for (const host of hosts) {
    const balance = world.ledgerModel.accounts.get(host)?.balance ?? 0n;
    const own = lines.filter(({ account, isOpen }) => account === host && isOpen);
    const promisedBefore = own.reduce((sum, { amount, isNew }) => sum + (isNew ? 0n : amount), 0n);
    for (const builder of payouts.ownedWith.get(host) ?? []) {
      const owed = -(world.ledgerModel.accounts.get(builder)?.balance ?? 0n);
      if (owed > 0n && balance > promisedBefore)
        world.fail("debts are set off before anybody is paid", `${builder} owes ${owed}, ${host} has ${balance}`);
    }
  }
}

/** Runs once at the end of a simulated world. */
export function auditMoney(stage: WorldParticipants): void {
  const { world, builders, hosts, credited } = stage;
  const { payouts } = world.store.tables;
  if (stage.errandsUnderWay > 0) world.fail("what people ask for is done", `${stage.errandsUnderWay} things are not`);
  const due = new Map<Uuid, bigint>();
  const add = (account: Uuid | null, amount: bigint): void => {
    if (account !== null) due.set(account, (due.get(account) ?? 0n) + amount);
  };
  for (const [account, amount] of credited) add(account, amount);
  for (const { id, account, host, charge, granted } of world.ledgerModel.requests.values()) {
    add(account, -charge);
    add(host, ((charge - granted) * 7n) / 10n);
    if (granted > 0n && host !== null && !payouts.ownedWith.get(host)?.includes(account))
      world.fail("granted credit pays everybody but its own owner", `${id}: ${granted} of ${charge}`);
  }
  for (const { lines, paidMs } of payouts.batches.values())
    if (paidMs !== null) for (const { account, amount } of lines) add(account, -amount);
  for (const { host, builder, amount } of payouts.setOffs) {
    add(host, -amount);
    add(builder, amount);
  }
  for (const account of [...builders.map(({ id }) => id), ...hosts]) {
    const balance = world.ledgerModel.accounts.get(account)?.balance ?? 0n;
    if (balance !== (due.get(account) ?? 0n))
      world.fail("everybody has exactly what is theirs", `${account}: ${balance}, ${due.get(account) ?? 0n} is due`);
  }
}
