/** The tests of the commands for nodes, payouts, withheld shares and spot checks. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { parseId } from "../../gateway/src/base/ids.ts";
import { type AdminPlatform, WITHHELD_SHARE_COUNT } from "./platform.ts";

/** Counts the payouts, so that each has another amount. */
let payouts = 0;

export function testNodeCommands(where: string, open: () => AdminPlatform): void {
  let admin: AdminPlatform;
  before(() => {
    admin = open();
  });

  test(`${where} platform: tollgate admin overview shows money, accounts, nodes and traffic`, async () => {
    type Numbers = {
      money: Record<string, string>;
      accounts: { builders: number; hosts: number };
      nodes: Record<string, number>;
      ready_nodes: { model: string; nodes: number }[];
      traffic: { outcome: string; requests: number }[];
    };
    const { money, accounts, nodes, traffic } = await admin.said<Numbers>("overview", "--days", "31");
    assert.ok(accounts.builders > 0 && accounts.hosts > 0);
    assert.ok(Object.values(nodes).reduce((sum, count) => sum + count, 0) > 0);
    const micro = (name: string): bigint => BigInt((money[`${name}_micro`] ?? "").replace(".", ""));
    assert.equal(micro("liabilities"), micro("builder_credit") + micro("hosts_owed"));
    assert.ok(traffic.some(({ outcome, requests }) => outcome === "ok" && requests > 0));
    const text = await admin.good("overview");
    for (const line of ["Builders' credit", "Owed to hosts", "Liabilities", "Platform revenue", "Accounts", "Nodes"]) {
      assert.match(text, new RegExp(`^${line} +\\$?\\d`, "m"));
    }
    assert.match(text, /^Traffic +the last day, \$\d+\.\d{2,12} charged$/m);
    assert.match(
      text,
      /^OUTCOME +REQUESTS +TOKENS IN +TOKENS OUT +CHARGED\n(.*\n)*ok +\d+ +\d+ +\d+ +\$\d+\.\d{2,12}/m,
    );
  });

  test(`${where} platform: tollgate admin node lists, finds, shows, quarantines and releases nodes`, async () => {
    assert.match(
      await admin.good("node", "list"),
      new RegExp(`^NODE +STATE +NAME +HOST +MODELS +NOTE\n${admin.node}  \\w+ +local-1  Local host  tiny-3b$`),
    );
    type Shown = {
      id: string;
      account_name: string;
      standing: string;
      quarantine: { reason: string; by: string; evidence: object } | null;
    };
    const found = async (...flags: string[]) =>
      (await admin.said<Shown[]>("node", "list", ...flags)).map(({ id }) => id);
    assert.deepEqual(await found("--q", "LOCAL", "--host", admin.host), [admin.node]);
    assert.deepEqual([await found("--q", "nowhere"), await found("--state", "retired")], [[], []]);
    assert.equal(await admin.good("node", "list", "--host", admin.builder), "No node matches.");
    const barred = await admin.said<Shown>("node", "quarantine", admin.node, "--reason", "smells of smoke");
    assert.deepEqual([barred.standing, barred.quarantine?.reason], ["quarantined", "smells of smoke"]);
    assert.equal(barred.quarantine?.by, "command line");
    assert.deepEqual(await admin.said<Shown>("node", "show", admin.node), barred);
    assert.deepEqual([barred.account_name, barred.quarantine?.evidence], ["Local host", {}]);
    assert.match(
      await admin.good("node", "show", admin.node),
      /\nQuarantined {2}\S+Z by command line: smells of smoke\nEvidence {5}\{\}$/,
    );
    assert.deepEqual(await found("--state", "quarantined"), [admin.node]);
    assert.match(
      await admin.good("node", "quarantine", admin.node, "--reason", "again"),
      /quarantined .* smells of smoke$/,
    );
    assert.match(await admin.good("node", "release", admin.node), /paused/);
    assert.match(
      (await admin.run("node", "release", admin.node)).out,
      /^this action is not possible while the node is paused$/,
    );
    await admin.good("node", "quarantine", admin.node, "--reason", "smells of smoke");
    assert.equal((await admin.said<Shown>("node", "release", admin.node)).standing, "paused");
  });

  test(`${where} platform: tollgate admin payout creates, shows and marks payouts as paid; the ledger check passes`, async () => {
    const earned = `${100 + payouts++}`;
    // Gives the host a balance to pay out: a grant is simpler than serving requests.
    await admin.query(
      `select ledger_transfer(gen_random_uuid(), 'grant', '${parseId("acc", admin.host)}', ${earned}000000, 'earned')`,
    );
    type Batch = { id: string; total_micro: string; hosts: number; paidAt: string | null };
    assert.match(
      (await admin.run("payout", "create", "--minimum-usd", "1000")).out,
      /^no host is owed the minimum amount \(--minimum-usd\), not counting held-back earnings and open payouts$/,
    );
    const [batch] = await admin.said<Batch[]>("payout", "create", "--note", "November", "--minimum-usd", "0.000001");
    assert.equal(batch?.hosts, 1);
    const id = batch?.id ?? "";
    assert.match((await admin.run("payout", "create")).out, /no host is owed anything/);
    assert.match(
      await admin.good("payout", "list"),
      new RegExp(
        `^BATCH +STATE +HOSTS +TOTAL +HELD BACK +SET OFF +WITHHELD +NOTE\n${id}  open +1 +\\$[\\d.]+ +\\$[\\d.]+ +\\$0\\.00 +\\$[\\d.]+ +November$`,
        "m",
      ),
    );
    assert.equal((await admin.said<Batch[]>("payout", "list"))[0]?.id, id);
    assert.match(
      await admin.good("payout", "show", id),
      new RegExp(
        `^pay_\\w+  ${admin.host} +\\$[\\d.]+ +\\$[\\d.]+ +\\$0\\.00( +\\$[\\d.]+){3} +none +Local host$`,
        "m",
      ),
    );
    assert.equal((await admin.said<{ account: string }[]>("payout", "show", id))[0]?.account, admin.host);
    assert.match(
      await admin.good("payout", "export", id),
      new RegExp(
        `^payout,account,name,owners,amount_micro,held_back_micro,set_off_micro,withheld_micro,newly_withheld_micro,own_micro,method,holder,number,bank_code,method_changed_at\\npay_\\w+,${admin.host},Local host,\\S*,${batch?.total_micro},[\\d.]+,0.000000,[\\d.]+,[\\d.]+,[\\d.]+,,,,,$`,
      ),
    );
    assert.deepEqual(await admin.said("payout", "export", id), await admin.said("payout", "show", id));
    assert.match(await admin.good("payout", "paid", id), / paid +1 /);
    assert.ok((await admin.said<Batch[]>("payout", "paid", id))[0]?.paidAt, "again, with the same end");
    await admin.query(
      `select ledger_transfer(gen_random_uuid(), 'grant', '${parseId("acc", admin.host)}', 7000000, 'earned')`,
    );
    assert.match(await admin.good("payout", "create"), /open +1 +\$0\.000007 +\$[\d.]+ +\$0\.00 +\$[\d.]+$/);
    assert.match(
      await admin.good("ledger", "check"),
      /^CHECK +CHECKED +RESULT\n[\s\S]*every balance is the sum of its entries +\d+ {2}ok[\s\S]*The ledger balances\.$/,
    );
    assert.equal((await admin.said<{ balanced: boolean }>("ledger", "check")).balanced, true);
  });

  test(`${where} platform: tollgate admin withheld lists hosts' withheld shares, and releases them with a note`, async () => {
    type Share = { request_id: string; account: string; node: string; reason: string; note: string | null };
    const list = (...flags: string[]) => admin.said<Share[]>("withheld", "list", ...flags);
    const open = await list("--node", admin.node);
    assert.deepEqual(await list("--host", admin.host), open);
    assert.deepEqual(await list("--host", admin.builder), []);
    assert.ok(open.every((share) => share.account === admin.host && share.reason === "node_failed"));
    const [id = ""] = open.map(({ request_id }) => request_id);
    assert.match(
      await admin.good("withheld", "list"),
      new RegExp(
        `^REQUEST +AMOUNT +REASON +NODE +HOST +RELEASED\n${id} +\\$0\\.0\\d+ +node_failed +${admin.node} +Local host`,
      ),
    );
    const release = ["withheld", "release", "--note", "the failure was ours"];
    assert.match(await admin.good(...release, "--request", id), /^1 share released, \$0\.0\d+$/);
    assert.equal(await admin.good(...release, "--request", id), "0 shares released, $0.00");
    const all = await list("--all");
    assert.deepEqual([all.length, (await list()).length], [WITHHELD_SHARE_COUNT, open.length - 1]);
    assert.equal(all.find((share) => share.request_id === id)?.note, "the failure was ours");
    if (where === "live") return;
    const rest = await admin.said<{ shares: number }>(...(release as [string]), "--node", admin.node);
    assert.equal(rest.shares, open.length - 1);
    assert.equal(await admin.good("withheld", "list"), "No host shares are withheld.");
  });

  test(`${where} platform: tollgate admin checks sums spot checks by node and model`, async () => {
    await admin.query("delete from spot_check");
    assert.equal(await admin.good("checks", "list"), "No answers have been checked.");
    await admin.query(
      `insert into spot_check (id, request_id, node_id, verifier_id, model, method, class, mean, tokens, verdict, calibrates, read_tokens,
                               cost_pico, at)
       select gen_random_uuid(), gen_random_uuid(), id, id, 'tiny-3b', 'text', 'warm-long', -0.5, 20, verdict, false, 40, 2000000, now()
         from node, unnest(array['ok', 'bad', 'trap_seen']) verdict where name = 'local-1'`,
    );
    assert.match(
      await admin.good("checks", "list", "--node", admin.node),
      new RegExp(
        `^NODE +MODEL +CHECKS +BAD +SCORE +EVIDENCE +HOST +COST\n${admin.node} +tiny-3b +2 +1 +-0\\.50 +Local host +\\$0\\.000004$`,
      ),
    );
    const [sums] = await admin.said<Record<string, unknown>[]>("checks", "list");
    assert.partialDeepStrictEqual(sums, {
      node: admin.node,
      account: admin.host,
      checks: 2,
      bad: 1,
      cost_micro: "4.000000",
    });
    const [model, all] = await admin.said<Record<string, unknown>[]>("checks", "models");
    assert.partialDeepStrictEqual(model, { model: "tiny-3b", checks: 2, bad: 1, cost_micro: "6.000000" });
    assert.deepEqual([all?.model, all?.cost_micro], ["all models", "6.000000"]);
    assert.equal(all?.share, 6 / Number(all?.charged_micro));
    assert.match(
      await admin.good("checks", "models"),
      /^MODEL +CHECKS +BAD +COST +REVENUE +SHARE\ntiny-3b +2 +1 +\$0\.000006 +\$[\d.]+ +[\d.]+ %\nall models +2 /,
    );
  });
}
