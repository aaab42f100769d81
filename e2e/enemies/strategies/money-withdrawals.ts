/** Attacks that try to withdraw money that no one paid in. */
import { randomUUID } from "node:crypto";
import type { Behaviour } from "@tollgate/stage/nodes/hand-made-node.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { type Attacker, type AttackStrategy, MODEL, userMessage } from "../attack-strategy.ts";
import { countChargesAfterDispute } from "../disputed-top-ups.ts";
import { answerWith } from "./uncomputed-answers.ts";

/** A model that only the attacker's node serves. */
const OWN_MODEL = "mid-14b";

/** Makes one person the owner of all these accounts. */
async function ownsBoth(enemy: Attacker, accounts: string[]): Promise<void> {
  const identity = randomUUID();
  await enemy.query("insert into identity (id, email, name) values ($1, $2, 'somebody')", [
    identity,
    `${identity}@example.test`,
  ]);
  for (const account of accounts)
    await enemy.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [identity, account]);
}

/**
 * Creates a payout batch as if the hold-back period were over, and counts its payout to the attacker in picodollars.
 */
async function cashes(enemy: Attacker): Promise<void> {
  await enemy.query("select payout_create($1, 'enemies', 'enemies', 1, 0)", [randomUUID()]);
  const sum = "select coalesce(sum(amount), 0) as sum from payout where account_id = any($1)";
  const [row] = await enemy.query<{ sum: string }>(sum, [enemy.loot.hosts]);
  enemy.takes("picodollars of granted credit as cash", Number(row?.sum ?? 0));
}

const asks = async (enemy: Attacker, key: string): Promise<void> =>
  void (await readText(await enemy.chat(key, { ...userMessage("Tell me more."), model: OWN_MODEL })));

async function asksItself(enemy: Attacker): Promise<void> {
  const host = await enemy.host();
  const { account, key } = await enemy.builder();
  await ownsBoth(enemy, [host.account, account]);
  await enemy.node(answerWith(), { host, models: [OWN_MODEL] });
  enemy.keep(() => asks(enemy, key), { lanes: 4, everyMs: 50 });
}

export const MONEY_WITHDRAWAL_ATTACKS: AttackStrategy[] = [
  {
    name: "grants to cash",
    known: 7,
    does: "Spends granted credit on a node of its own, and has the earnings paid out.",
    attack: (enemy) => asksItself(enemy),
    finish: cashes,
  },
  {
    name: "top-up after a dispute",
    known: 16,
    does: "Disputes an automatic purchase: the card is charged again and again.",
    async attack() {},
    finish: async (enemy) => enemy.takes("charges after a dispute", await countChargesAfterDispute()),
  },
  {
    name: "record bought from itself",
    does: "Answers a builder of its own as it should, a hundred times a second, to have a good record, and everybody else with canned words.",
    async attack(enemy) {
      const host = await enemy.host();
      const { key } = await enemy.builder();
      const own: Behaviour = (job) => {
        job.accept();
        job.deltas(["ready"]);
        job.done();
      };
      const behaviour: Behaviour = (job) => (job.header.model === OWN_MODEL ? own(job) : answerWith()(job));
      await enemy.node(behaviour, { host, models: [MODEL, OWN_MODEL] });
      enemy.keep(() => asks(enemy, key), { lanes: 2, everyMs: 20 });
    },
  },
];
