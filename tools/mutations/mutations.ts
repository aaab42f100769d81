/** The mutations, which are deliberate bugs: each changes one place in the sources, and the named test must fail. */

interface Mutation {
  name: string;
  /** Path from the repository's root. */
  file: string;
  find: string;
  replace: string;
  /** The path of the test file from the root, and the title of the test that must fail. */
  test: string;
  title: string;
}

const SQL = "gateway/sql/functions/";
const SRC = "gateway/src/";

export const MUTATIONS: Mutation[] = [
  {
    name: "a budget set while a hold waits for the account's lock is passed over",
    file: `${SQL}ledger_hold_one.sql`,
    find: "not exists (select from request where id = p_id) and not exists (select from key_budget where key_id = p_key)",
    replace: "not exists (select from request where id = p_id)",
    test: `${SRC}ledger/budgets.test.ts`,
    title: "refuses a hold that waited for the account lock while a budget of zero was set",
  },
  {
    name: "a sweep waits for a hold that is being renewed",
    file: `${SQL}ledger_end_expired.sql`,
    find: "for update skip locked",
    replace: "for update",
    test: `${SRC}ledger/late-settlement.test.ts`,
    title: "are skipped by a sweep while another transaction uses the hold; if it was renewed, the next sweep skips it",
  },
  {
    name: "the low-credit alert is reset before the purchase commits",
    file: `${SRC}payments/process-payment-events.ts`,
    find: "  return await inTransaction(options.pool, async (client) => {\n    await client.query(IDLE_MAX);\n    const taken",
    replace:
      '  await options.pool.query("update credit_alert set fallen = false, rises = rises + 1");\n' +
      "  return await inTransaction(options.pool, async (client) => {\n    await client.query(IDLE_MAX);\n    const taken",
    test: `${SRC}payments/credit-alerts.test.ts`,
    title: "is not sent while a purchase is uncommitted, and resets only when it commits",
  },
  {
    name: "earnings leave the hold-back an hour early",
    file: `${SQL}payout_held_back.sql`,
    find: "p_hold_days * 24 + 1)",
    replace: "p_hold_days * 24)",
    test: `${SRC}operators/payouts.test.ts`,
    title: "earnings are held back until their whole hour is older than the hold-back period",
  },
  {
    name: "every request of a batch spends the same granted credit",
    file: `${SQL}ledger_settle.sql`,
    find: "g.granted - (sum(own.charge) over before - own.charge)",
    replace: "g.granted - 0 * (sum(own.charge) over before - own.charge)",
    test: `${SRC}ledger/withheld-shares-reserve.test.ts`,
    title: "is spent by the requests of one settlement batch in their order",
  },
  {
    name: "a batch leaves before all sockets are read",
    file: `${SRC}db/batcher.ts`,
    find: "this.#start((task) => clock.soon(task));",
    replace: "this.#start(queueMicrotask);",
    test: `${SRC}db/batcher.test.ts`,
    title:
      "the batcher sends operations added in one event-loop turn as one batch, and later operations as the next batch",
  },
  {
    name: "an answer does not wait for its settlement",
    file: `${SRC}inference/serve.ts`,
    find: "    await settling;\n",
    replace: "    void settling;\n",
    test: `${SRC}inference/serve.test.ts`,
    title:
      "serve offers a job only after its hold is committed, and answers the client only after its settlement is committed",
  },
  {
    name: "a label's rollup loses a late charge",
    file: `${SQL}history_roll_up.sql`,
    find: "          charge_pico = d.charge_pico + excluded.charge_pico\n  )",
    replace:
      "          charge_pico = greatest(d.charge_pico, excluded.charge_pico) * (excluded.requests > 0)::int\n  )",
    test: `${SRC}history/rollup-writer.test.ts`,
    title:
      "add a late charge to the daily sum of its request label, whether or not the request was already counted as lost",
  },
  {
    name: "a member who becomes a billing contact keeps a playground key",
    file: `${SQL}leaving_ends_session_keys.sql`,
    find: "if to_jsonb(new) ->> 'role' = 'member' then",
    replace: "if to_jsonb(new) ->> 'role' in ('member', 'billing') then",
    test: `${SRC}keys/playground-keys.test.ts`,
    title: "stop working when the user becomes billing, and continue after a change to the role member",
  },
  {
    name: "a hold in doubt is looked up only once",
    file: `${SRC}ledger/hold-releases.ts`,
    find: "for (const delayMs of [WAIT_MAX_MS, holdLeaseMs / 4]) {",
    replace: "for (const delayMs of [] as number[]) {",
    test: `${SRC}ledger/hold-releases.test.ts`,
    title:
      "the gateway tries to release a hold with an unknown outcome at once, after 1 s, and after a quarter of its lease",
  },
  {
    name: "a spooled settlement is dropped when giving up cannot be written down",
    file: `${SRC}ledger/settling-tries.ts`,
    find: 'log.error({ request, err: failure }, "could not record a given-up settlement in given-up.jsonl");\n      return false;',
    replace:
      'log.error({ request, err: failure }, "could not record a given-up settlement in given-up.jsonl");\n      return true;',
    test: `${SRC}ledger/given-up-settlements.test.ts`,
    title: "keeps a settlement on disk if the database refuses it, until it is recorded as given up",
  },
  {
    name: "a credit look counts as new from its answer on",
    file: `${SRC}ledger/credit.ts`,
    find: "if (looking.get(accountId) === one) learned(accountId, has, now);",
    replace: "if (looking.get(accountId) === one) learned(accountId, has, clock.monotonic());",
    test: `${SRC}ledger/credit.test.ts`,
    title: "the credit cache keeps the result of a slow query for one second after the query started",
  },
  {
    name: "unseen thinking is billed after a plane cut",
    file: `${SRC}inference/serve.ts`,
    find: 'const onlyDelivered = end === "broken" || end === "cut" || end === "stopped";',
    replace: 'const onlyDelivered = end === "broken" || end === "stopped";',
    test: `${SRC}inference/serve.test.ts`,
    title: "serve bills no thinking that the client did not see when a stream ends as cut",
  },
  {
    name: "required_micro of a 402 is rounded down",
    file: `${SRC}inference/admit.ts`,
    find: "required_micro: Number(ceilMicro(amount))",
    replace: "required_micro: Number(roundDownToMicro(amount))",
    test: `${SRC}inference/admit.test.ts`,
    title: "rounds required_micro up and available_micro down when the balance is too small",
  },
  {
    name: "the top-up month follows the process's time zone",
    file: `${SRC}base/time.ts`,
    find: "new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1))",
    replace: "new Date(date.getFullYear(), date.getMonth(), 1)",
    test: `${SRC}base/time.test.ts`,
    title: "days and months begin at midnight UTC when the process's time zone is America/Los_Angeles",
  },
  {
    name: "a live gateway takes test-mode payment events",
    file: `${SRC}payments/payments.ts`,
    find: "if (event.live !== provider.live) {",
    replace: "if (event.live && !provider.live) {",
    test: `${SRC}payments/process-payment-events.test.ts`,
    title: "a test-mode event in live mode is refused and credits nothing",
  },
  {
    name: "a removed member comes back as owner by an older invitation",
    file: `${SRC}accounts/team.ts`,
    find: "        await revokeInvitationsTo(client, accountId, member.email);\n",
    replace: "",
    test: `${SRC}accounts/team.test.ts`,
    title: "a person who was removed and invited again has only the new role",
  },
  {
    name: "a receipt has the request's start as its end",
    file: `${SRC}history/receipts.ts`,
    find: "finished_at: record.finishedAt.toISOString()",
    replace: "finished_at: record.createdAt.toISOString()",
    test: `${SRC}history/receipts.test.ts`,
    title: "contain the values of the request's record, with its start and end",
  },
  {
    name: "a drain does not wait for settlements",
    file: `${SRC}ledger/ledger.ts`,
    find: "await Promise.all([holds.idle(), settling.close(), releases.close()]);",
    replace: "await Promise.all([holds.idle(), releases.close()]);",
    test: `${SRC}ledger/outage.test.ts`,
    title: "waits at shutdown for settlements that are being written to the database",
  },
  {
    name: "a gateway that stops does not close its ledger",
    file: `${SRC}assemble/ledger-and-spool.ts`,
    find: "  onClose(() => ledger.close());\n",
    replace: "",
    test: `${SRC}assemble/ledger-and-spool.test.ts`,
    title: "a closing gateway waits for settlements that are being written to the database",
  },
  {
    name: "another gateway's spooled settlement is dropped when giving up cannot be written down",
    file: `${SRC}ledger/settling-tries.ts`,
    find: 'if (result.isFinal && (await this.giveUp(settlement, result.error))) return "given_up";',
    replace: 'if (result.isFinal) return this.giveUp(settlement, result.error).then(() => "given_up" as const);',
    test: `${SRC}ledger/given-up-settlements.test.ts`,
    title: "keeps a settlement on disk if the database refuses it, until it is recorded as given up",
  },
  {
    name: "credit that a hold found counts as new from its answer on",
    file: `${SRC}ledger/ledger.ts`,
    find: 'credit.learned(order.accountId, outcome.kind !== "no_credit", asOf);',
    replace: 'credit.learned(order.accountId, outcome.kind !== "no_credit", asOf && clock.monotonic());',
    test: `${SRC}ledger/hold-outages.test.ts`,
    title: "reads the credit again one second after a slow hold started, not one second after its response",
  },
  {
    name: "unseen thinking is billed when the gateway stops",
    file: `${SRC}inference/serve.ts`,
    find: 'const onlyDelivered = end === "broken" || end === "cut" || end === "stopped";',
    replace: 'const onlyDelivered = end === "broken" || end === "cut";',
    test: `${SRC}inference/serve.test.ts`,
    title: "serve bills no thinking that the client did not see when a stream ends as stopped",
  },
  {
    name: "the record of a request is read with its start as its end",
    file: `${SRC}history/request-history.ts`,
    find: 'finished_at as "finishedAt"',
    replace: 'created_at as "finishedAt"',
    test: `${SRC}history/receipts.test.ts`,
    title: "contain the values of the request's record, with its start and end",
  },
  {
    name: "a budget of a day refuses a hold of exactly what is left",
    file: `${SQL}ledger_hold.sql`,
    find: "if p_amount[i] > day_room then",
    replace: "if p_amount[i] >= day_room then",
    test: `${SRC}ledger/budgets.test.ts`,
    title: "per day accepts a hold of exactly the amount left, and refuses one picodollar more",
  },
  {
    name: "a budget of a month refuses a hold of exactly what is left",
    file: `${SQL}ledger_hold.sql`,
    find: "elsif p_amount[i] > month_room then",
    replace: "elsif p_amount[i] >= month_room then",
    test: `${SRC}ledger/budgets.test.ts`,
    title: "per month accepts a hold of exactly the amount left, and refuses one picodollar more",
  },
  {
    name: "the check of the ledger passes over the rollups by label",
    file: `${SRC}ledger/check.ts`,
    find: "    checks.push(...listRollupChecks(KEPT_FROM, performance));\n",
    replace: "",
    test: `${SRC}history/day-closing.test.ts`,
    title: "include label_day: the ledger check finds a changed figure and names the day",
  },
  {
    name: "the check of the ledger passes over the closed days of performance",
    file: `${SRC}ledger/check.ts`,
    find: "    if (await hasPerformanceDayTable(client)) checks.push(performanceDayRollupCheck(performance));\n",
    replace: "",
    test: `${SRC}history/day-closing.test.ts`,
    title: "include performance_day: the ledger check finds a changed figure and names the day",
  },
  {
    name: "the slow hold path refuses a hold of exactly what is left",
    file: `${SQL}ledger_hold.sql`,
    find: "if p_amount[i] <= available[i] then",
    replace: "if p_amount[i] < available[i] then",
    test: `${SRC}ledger/ledger.test.ts`,
    title: "accepts a batch of holds that uses up the balance exactly",
  },
  {
    name: "a promised payout is set off again",
    file: `${SQL}payout_create.sql`,
    find:
      "least(earned.balance - coalesce((select sum(p.amount) from payout p join payout_batch b on b.id = p.batch_id\n" +
      "                                             where p.account_id = earned.id and b.paid_at is null), 0),",
    replace: "least(earned.balance,",
    test: `${SRC}operators/payouts.test.ts`,
    title: "an amount in an open batch is not set off against the owner's debt",
  },
];
