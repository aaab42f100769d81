/**
 * Tests every `tollgate admin` command on a running platform and on a stopped one: its text, its JSON, and its errors
 * for invalid input. Most commands run inside the test process, because starting a process for each would take too
 * long. Some run as processes, to check their exit codes.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  createDataDir,
  isAlive,
  type Platform,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { sendScriptedChat } from "@tollgate/stage/requests.ts";
import { PRIVATE_DATABASE_ENV } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { runCommand } from "@tollgate/terminal/run-command-line.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import pg from "pg";
import { systemClock } from "../gateway/src/base/clock.ts";
import { parseId } from "../gateway/src/base/ids.ts";
import { createLog } from "../gateway/src/base/log.ts";
import { TOLLGATE_COMMANDS as COMMANDS } from "../gateway/src/commands/tollgate.ts";
import { findPostmaster } from "../gateway/src/db/embedded/postmaster.ts";
import { startPrivatePostgres } from "../gateway/src/db/embedded.ts";
import { ConsoleClient } from "./console-client.ts";

const TOLLGATE = fileURLToPath(new URL("../gateway/bin/tollgate.mjs", import.meta.url));

/** The number of failed requests: enough to withhold shares, too few to quarantine the node. */
const WITHHELD = 4;

let dataDir: string;
let platform: Platform;
let [builder, host, node] = ["", "", ""];
before(async () => {
  dataDir = await createDataDir();
  platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], PRIVATE_DATABASE_ENV);
  const accounts = await said<{ id: string; kind: string }[]>("account", "list");
  [builder, host] = ["builder", "host"].map((kind) => accounts.find((one) => one.kind === kind)?.id ?? "") as [
    string,
    string,
  ];
  node = (await said<{ id: string }[]>("node", "list"))[0]?.id ?? "";
  assert.equal((await sendScriptedChat(platform, { text: "x" })).status, 200);
  // Marks the builder's credit as not granted. One person owns both accounts, and a host earns nothing from requests
  // that its owner pays with granted credit, so there would be no share to withhold.
  await query(`update ledger_account set granted = 0 where id = '${parseId("acc", builder)}'`);
  for (let i = 0; i < WITHHELD; i++)
    assert.equal((await sendScriptedChat(platform, { text: "a b", fail_after: 1 })).status, 502);
});
after(async () => {
  if (isAlive(platform.ready.pids.gateway)) await platform.stop();
  await removeDataDir(dataDir);
});

/** Runs one command in this process. Returns its exit code and its output or error message. */
async function run(...args: string[]): Promise<{ code: number; out: string }> {
  const terminal = new FakeTerminal();
  try {
    const code = await runCommand(COMMANDS, ["admin", ...args, "--data", dataDir], { terminal, env: process.env });
    return { code, out: terminal.text };
  } catch (error) {
    return { code: error instanceof UsageError ? 2 : 1, out: (error as Error).message };
  }
}

async function good(...args: string[]): Promise<string> {
  const { code, out } = await run(...args);
  assert.equal(code, 0, `${args.join(" ")}: ${out}`);
  return out;
}

const said = async <T>(...args: string[]): Promise<T> => JSON.parse(await good(...args, "--json")) as T;

/** Runs one command as a process, with `input` as its standard input. */
async function shell(args: string[], input = ""): Promise<{ code: number | null; out: string }> {
  const child = spawn(process.execPath, [TOLLGATE, "admin", ...args, "--data", dataDir], { stdio: "pipe" });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const out = (await Promise.all([text(child.stdout), text(child.stderr)])).join("");
  return { code: await ended, out };
}

let people = 0;
let months = 0;

/** Defines a test for every command, as text and as JSON. Each test leaves the state that the next one needs. */
function everyCommand(where: string): void {
  test(`${where} platform: tollgate admin account lists, opens, suspends and restores accounts; admin grant adds credit`, async () => {
    assert.match(await good("account", "list"), /^ACCOUNT +KIND +BALANCE +HELD +STATE +NAME +OWNERS$/m);
    assert.match(
      await good("account", "list"),
      new RegExp(`^${builder}  builder +\\$\\d+\\.\\d{2,} +\\$0\\.00  active +Local builder +builder@`, "m"),
    );
    assert.match(await good("account", "list", "--kind", "host", "--q", "local h"), new RegExp(`^${host}  host `, "m"));
    assert.equal(await good("account", "list", "--q", "nobody at all"), "No account matches.");
    type Entry = { id: string; name: string; balance_micro: string; suspendedAt: string | null };
    const opened = await said<Entry>("account", "open", "builder", "From the shell");
    assert.deepEqual([opened.name, opened.balance_micro], ["From the shell", "0.000000"]);
    assert.match(
      await good("account", "open", "host", "Barn"),
      /^Account {2}acc_\w{26}\nKind {5}host\nName {5}Barn\nBalance {2}\$0\.00\n[\s\S]*^Owners {3}nobody$/m,
    );
    const { email } = platform.ready.builder;
    const owned = await said<Entry & { owners: string[] }>(
      "account",
      "open",
      "builder",
      "Theirs",
      "--owner",
      email.toUpperCase(),
    );
    assert.deepEqual(owned.owners, [email]);
    assert.match(await good("grant", opened.id, "--usd", "0.25", "--reason", "to try"), /^Balance {2}\$0\.25$/m);
    const granted = await said<Entry>("grant", opened.id, "--usd", "5", "--reason", "to try");
    assert.equal(granted.balance_micro, "5250000.000000");
    assert.deepEqual(await said<Entry>("account", "show", opened.id), granted);
    assert.match(await good("account", "show", opened.id), /^Balance {2}\$5\.25$/m);
    assert.match(await good("suspend", opened.id, "--reason", "unpaid"), /^State {4}SUSPENDED since \S+Z$/m);
    assert.match(await good("account", "suspend", opened.id, "--reason", "unpaid"), /^State {4}SUSPENDED since \S+Z$/m);
    assert.ok((await said<Entry>("account", "suspend", opened.id, "--reason", "unpaid")).suspendedAt);
    assert.equal((await said<Entry>("account", "restore", opened.id, "--reason", "paid")).suspendedAt, null);
    assert.doesNotMatch(await good("account", "restore", opened.id, "--reason", "paid"), /SUSPENDED/);
  });

  test(`${where} platform: tollgate admin account sets a builder's low-credit alert and turns off its automatic top-up`, async () => {
    type Entry = { id: string; alert_mark_micro: string | null; top_up: Record<string, unknown> | null };
    const { id, ...before } = await said<Entry>("account", "open", "builder", "Careful");
    assert.deepEqual([before.alert_mark_micro, before.top_up], [null, null]);
    assert.match(await good("account", "show", id), /^Alert {4}none\nTop-up {3}never set$/m);
    const why = ["--reason", "asked for"];
    assert.match(
      await good("account", "alert", id, "--below", "2.50", ...why),
      /^Alert {4}below \$2\.50, which it is$/m,
    );
    assert.equal((await said<Entry>("account", "show", id)).alert_mark_micro, "2500000.000000");
    assert.match(await good("account", "alert", id, "--below", "none", ...why), /^Alert {4}none$/m);
    const refused = await run("account", "top-up-off", id, ...why);
    assert.deepEqual(refused, { code: 1, out: "this account has no automatic top-up" });
    await query(
      `insert into auto_topup (account_id, enabled, amount, mark, month_max)
       values ('${parseId("acc", id)}', true, 20000000000000, 5000000000000, 100000000000000)`,
    );
    const settings = "\\$20\\.00 when below \\$5\\.00, \\$0\\.00 of \\$100\\.00 this month";
    assert.match(await good("account", "show", id), new RegExp(`^Top-up {3}on: ${settings}$`, "m"));
    const off = await said<Entry>("account", "top-up-off", id, ...why);
    assert.deepEqual([off.top_up?.enabled, off.top_up?.amount_micro], [false, "20000000.000000"]);
    assert.match(await good("account", "show", id), new RegExp(`^Top-up {3}off: ${settings}$`, "m"));
    const shown = await good("account", "show", host);
    assert.doesNotMatch(shown, /Alert|Top-up/);
    assert.match(shown, /^Own use {2}\$[\d.]+ earned from its own requests$/m);
    type Act = { action: string; outcome: string; subject: string };
    const acts = await said<Act[]>("audit", "list", "--account", id);
    assert.deepEqual(
      acts.map(({ action, outcome }) => `${action} ${outcome}`),
      ["account.top_up_off done", "account.top_up_off failed", "account.alert done", "account.alert done"],
    );
    const count = async (...flags: string[]) => (await said<Act[]>("audit", "list", "--account", id, ...flags)).length;
    assert.deepEqual(
      [
        await count("--action", "account.alert"),
        await count("--outcome", "failed"),
        await count("--operator", "COMMAND"),
        await count("--operator", "olga@"),
        await count("--from", "2020-01-01", "--to", "2999-01-01"),
        await count("--to", "2020-01-01"),
        await count("--subject", builder),
      ],
      [2, 1, 4, 0, 4, 0, 0],
    );
    assert.ok((await said<Act[]>("audit", "list", "--subject", id)).every(({ subject }) => subject === id));
    assert.equal(await good("audit", "list", "--action", "moon.paint"), "No action matches.");
  });

  test(`${where} platform: tollgate admin commands create, list, limit and revoke keys and host tokens`, async () => {
    type Made = { id: string; name: string; secret: string };
    const made = await said<Made>("key", "create", builder, "from the shell");
    assert.match(made.secret, /^tsk_live_\w{12}_\w{43}$/);
    assert.match(
      await good("key", "create", builder, "another"),
      /^Key {5}key_\w{26}\nName {4}another\nSecret {2}tsk_live_\w{12}_\w{43}$/,
    );
    assert.match((await said<Made>("host-token", "create", host, "a token")).secret, /^tht_live_\w{12}_\w{43}$/);
    assert.match(
      await good("host-token", "create", host, "a token"),
      /^Host token {2}hst_\w{26}\nName .*\nSecret {6}tht_live_/,
    );
    const list = await good("key", "list", builder);
    assert.match(
      list,
      /^KEY +BEGINS +NAME +STATE +LAST USED +THIS MONTH +BUDGET\/DAY +BUDGET\/MONTH +EXPIRES +MODELS +REQUESTS\/MIN +TOKENS\/MIN +AT ONCE$/m,
    );
    const shown = `${made.id}  ${made.secret.slice(0, 21)}_…  from the shell +active +never +\\$0\\.00 +none +none +never +all`;
    assert.match(list, new RegExp(`^${shown} +600 +2000000 +64$`, "m"));
    const defaultLimits = { requestsPerMinute: 600, tokensPerMinute: 2_000_000, inFlight: 64 };
    const none = { requestsPerMinute: null, tokensPerMinute: null, inFlight: null };
    const listed = await said<Record<string, unknown>[]>("key", "list", builder);
    const { account, limits: inForce, ownLimits, spend_this_month } = listed.find(({ id }) => id === made.id) ?? {};
    assert.deepEqual([account, inForce, ownLimits], [builder, defaultLimits, none]);
    assert.deepEqual(spend_this_month, { requests: 0, charge_micro: "0.000000" });
    assert.ok(!JSON.stringify(listed).includes(made.secret) && !list.includes(made.secret));
    const limits = ["--requests-per-minute", "5", "--in-flight", "2"];
    assert.match(
      await good("key", "limits", made.id, ...limits),
      /^Set the key's limits on every gateway: 5\* requests\/min, 2000000 tokens\/min, 2\* at once\.$/,
    );
    const own = { requestsPerMinute: 5, tokensPerMinute: null, inFlight: 2 };
    const holds = { ...defaultLimits, requestsPerMinute: 5, inFlight: 2 };
    assert.deepEqual(await said("key", "limits", made.id, ...limits, "--tokens-per-minute", "default"), {
      id: made.id,
      limits: holds,
      ownLimits: own,
      defaultLimits,
    });
    assert.match(await good("key", "list", builder), new RegExp(`^${made.id} .* 5\\* +2000000 +2\\*$`, "m"));
    const back = await said<{ ownLimits: object }>("key", "limits", made.id);
    assert.deepEqual(back.ownLimits, none);
    assert.deepEqual(await said("key", "revoke", made.id), { id: made.id, revoked: true });
    assert.match((await run("key", "revoke", made.id)).out, /or it is revoked/);
  });

  test(`${where} platform: tollgate admin key sets a key's budgets, expiry, models and limits, and rotates its secret`, async () => {
    type Key = Record<string, unknown> & { id: string; secret: string };
    const settings = ["--budget-day", "2.50", "--expires", "2999-01-31", "--models", "tiny-3b", "--in-flight", "4"];
    const { id, secret } = await said<Key>("key", "create", builder, "for the intern", ...settings);
    const key = await said<Key>("key", "show", id);
    assert.deepEqual(
      [key.name, key.budget_day_micro, key.budget_month_micro, key.expiresAt, key.models, key.ownersLimits],
      [
        "for the intern",
        "2500000.000000",
        null,
        "2999-01-31T00:00:00.000Z",
        ["tiny-3b"],
        { requestsPerMinute: null, tokensPerMinute: null, inFlight: 4 },
      ],
    );
    const none = ["--budget-day", "none", "--expires", "never", "--models", "all", "--in-flight", "none"];
    const changed = await good("key", "set", id, "--name", "renamed", "--budget-month", "0.000000000001", ...none);
    assert.match(changed, /^Name {8}renamed$/m);
    assert.match(changed, /^Today {7}\$0\.00, no budget\nThis month {2}\$0\.00 of \$0\.000000000001$/m);
    assert.match(
      changed,
      /^Expires {5}never\nModels {6}all\nLimits {6}600 requests\/min, 2000000 tokens\/min, 64 at once$/m,
    );
    const kept = await said<Key & { old_secret_until: string }>("key", "rotate", id, "--keep-old", "1h");
    assert.ok(kept.secret !== secret && Date.parse(kept.old_secret_until) > Date.now());
    assert.match(await good("key", "show", id), /^Old secret {2}works until \S+Z$/m);
    assert.match(await good("key", "rotate", id), /^Secret {6}tsk_live_\w{12}_\w{43}\nOld secret {2}ended$/m);
    await good("key", "revoke", id);
    assert.match((await run("key", "rotate", id)).out, /^there is no such key, or it is revoked/);
  });

  test(`${where} platform: tollgate admin overview shows money, accounts, nodes and traffic`, async () => {
    type Numbers = {
      money: Record<string, string>;
      accounts: { builders: number; hosts: number };
      nodes: Record<string, number>;
      ready_nodes: { model: string; nodes: number }[];
      traffic: { outcome: string; requests: number }[];
    };
    const { money, accounts, nodes, traffic } = await said<Numbers>("overview", "--days", "31");
    assert.ok(accounts.builders > 0 && accounts.hosts > 0);
    assert.ok(Object.values(nodes).reduce((sum, count) => sum + count, 0) > 0);
    const micro = (name: string): bigint => BigInt((money[`${name}_micro`] ?? "").replace(".", ""));
    assert.equal(micro("liabilities"), micro("builder_credit") + micro("hosts_owed"));
    assert.ok(traffic.some(({ outcome, requests }) => outcome === "ok" && requests > 0));
    const text = await good("overview");
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
      await good("node", "list"),
      new RegExp(`^NODE +STATE +NAME +HOST +MODELS +NOTE\n${node}  \\w+ +local-1  Local host  tiny-3b$`),
    );
    type Shown = {
      id: string;
      account_name: string;
      standing: string;
      quarantine: { reason: string; by: string; evidence: object } | null;
    };
    const found = async (...flags: string[]) => (await said<Shown[]>("node", "list", ...flags)).map(({ id }) => id);
    assert.deepEqual(await found("--q", "LOCAL", "--host", host), [node]);
    assert.deepEqual([await found("--q", "nowhere"), await found("--state", "retired")], [[], []]);
    assert.equal(await good("node", "list", "--host", builder), "No node matches.");
    const barred = await said<Shown>("node", "quarantine", node, "--reason", "smells of smoke");
    assert.deepEqual([barred.standing, barred.quarantine?.reason], ["quarantined", "smells of smoke"]);
    assert.equal(barred.quarantine?.by, "command line");
    assert.deepEqual(await said<Shown>("node", "show", node), barred);
    assert.deepEqual([barred.account_name, barred.quarantine?.evidence], ["Local host", {}]);
    assert.match(
      await good("node", "show", node),
      /\nQuarantined {2}\S+Z by command line: smells of smoke\nEvidence {5}\{\}$/,
    );
    assert.deepEqual(await found("--state", "quarantined"), [node]);
    assert.match(await good("node", "quarantine", node, "--reason", "again"), /quarantined .* smells of smoke$/);
    assert.match(await good("node", "release", node), /paused/);
    assert.match((await run("node", "release", node)).out, /^this action is not possible while the node is paused$/);
    await good("node", "quarantine", node, "--reason", "smells of smoke");
    assert.equal((await said<Shown>("node", "release", node)).standing, "paused");
  });

  test(`${where} platform: tollgate admin payout creates, shows and marks payouts as paid; the ledger check passes`, async () => {
    const earned = `${100 + people}`;
    // Gives the host a balance to pay out: a grant is simpler than serving requests.
    await query(
      `select ledger_transfer(gen_random_uuid(), 'grant', '${parseId("acc", host)}', ${earned}000000, 'earned')`,
    );
    type Batch = { id: string; total_micro: string; hosts: number; paidAt: string | null };
    assert.match(
      (await run("payout", "create", "--minimum-usd", "1000")).out,
      /^no host is owed the minimum amount \(--minimum-usd\), not counting held-back earnings and open payouts$/,
    );
    const [batch] = await said<Batch[]>("payout", "create", "--note", "November", "--minimum-usd", "0.000001");
    assert.equal(batch?.hosts, 1);
    const id = batch?.id ?? "";
    assert.match((await run("payout", "create")).out, /no host is owed anything/);
    assert.match(
      await good("payout", "list"),
      new RegExp(
        `^BATCH +STATE +HOSTS +TOTAL +HELD BACK +SET OFF +WITHHELD +NOTE\n${id}  open +1 +\\$[\\d.]+ +\\$[\\d.]+ +\\$0\\.00 +\\$[\\d.]+ +November$`,
        "m",
      ),
    );
    assert.equal((await said<Batch[]>("payout", "list"))[0]?.id, id);
    assert.match(
      await good("payout", "show", id),
      new RegExp(`^pay_\\w+  ${host} +\\$[\\d.]+ +\\$[\\d.]+ +\\$0\\.00( +\\$[\\d.]+){3} +none +Local host$`, "m"),
    );
    assert.equal((await said<{ account: string }[]>("payout", "show", id))[0]?.account, host);
    assert.match(
      await good("payout", "export", id),
      new RegExp(
        `^payout,account,name,owners,amount_micro,held_back_micro,set_off_micro,withheld_micro,newly_withheld_micro,own_micro,method,holder,number,bank_code,method_changed_at\\npay_\\w+,${host},Local host,\\S*,${batch?.total_micro},[\\d.]+,0.000000,[\\d.]+,[\\d.]+,[\\d.]+,,,,,$`,
      ),
    );
    assert.deepEqual(await said("payout", "export", id), await said("payout", "show", id));
    assert.match(await good("payout", "paid", id), / paid +1 /);
    assert.ok((await said<Batch[]>("payout", "paid", id))[0]?.paidAt, "again, with the same end");
    await query(`select ledger_transfer(gen_random_uuid(), 'grant', '${parseId("acc", host)}', 7000000, 'earned')`);
    assert.match(await good("payout", "create"), /open +1 +\$0\.000007 +\$[\d.]+ +\$0\.00 +\$[\d.]+$/);
    assert.match(
      await good("ledger", "check"),
      /^CHECK +CHECKED +RESULT\n[\s\S]*every balance is the sum of its entries +\d+ {2}ok[\s\S]*The ledger balances\.$/,
    );
    assert.equal((await said<{ balanced: boolean }>("ledger", "check")).balanced, true);
  });

  test(`${where} platform: tollgate admin withheld lists hosts' withheld shares, and releases them with a note`, async () => {
    type Share = { request_id: string; account: string; node: string; reason: string; note: string | null };
    const list = (...flags: string[]) => said<Share[]>("withheld", "list", ...flags);
    const open = await list("--node", node);
    assert.deepEqual(await list("--host", host), open);
    assert.deepEqual(await list("--host", builder), []);
    assert.ok(open.every((share) => share.account === host && share.reason === "node_failed"));
    const [id = ""] = open.map(({ request_id }) => request_id);
    assert.match(
      await good("withheld", "list"),
      new RegExp(
        `^REQUEST +AMOUNT +REASON +NODE +HOST +RELEASED\n${id} +\\$0\\.0\\d+ +node_failed +${node} +Local host`,
      ),
    );
    const release = ["withheld", "release", "--note", "the failure was ours"];
    assert.match(await good(...release, "--request", id), /^1 share released, \$0\.0\d+$/);
    assert.equal(await good(...release, "--request", id), "0 shares released, $0.00");
    const all = await list("--all");
    assert.deepEqual([all.length, (await list()).length], [WITHHELD, open.length - 1]);
    assert.equal(all.find((share) => share.request_id === id)?.note, "the failure was ours");
    if (where === "live") return;
    const rest = await said<{ shares: number }>(...(release as [string]), "--node", node);
    assert.equal(rest.shares, open.length - 1);
    assert.equal(await good("withheld", "list"), "No host shares are withheld.");
  });

  test(`${where} platform: tollgate admin checks sums spot checks by node and model`, async () => {
    await query("delete from spot_check");
    assert.equal(await good("checks", "list"), "No answers have been checked.");
    await query(
      `insert into spot_check (id, request_id, node_id, verifier_id, model, method, class, mean, tokens, verdict, calibrates, read_tokens,
                               cost_pico, at)
       select gen_random_uuid(), gen_random_uuid(), id, id, 'tiny-3b', 'text', 'warm-long', -0.5, 20, verdict, false, 40, 2000000, now()
         from node, unnest(array['ok', 'bad', 'trap_seen']) verdict where name = 'local-1'`,
    );
    assert.match(
      await good("checks", "list", "--node", node),
      new RegExp(
        `^NODE +MODEL +CHECKS +BAD +SCORE +EVIDENCE +HOST +COST\n${node} +tiny-3b +2 +1 +-0\\.50 +Local host +\\$0\\.000004$`,
      ),
    );
    const [sums] = await said<Record<string, unknown>[]>("checks", "list");
    assert.partialDeepStrictEqual(sums, { node, account: host, checks: 2, bad: 1, cost_micro: "4.000000" });
    const [model, all] = await said<Record<string, unknown>[]>("checks", "models");
    assert.partialDeepStrictEqual(model, { model: "tiny-3b", checks: 2, bad: 1, cost_micro: "6.000000" });
    assert.deepEqual([all?.model, all?.cost_micro], ["all models", "6.000000"]);
    assert.equal(all?.share, 6 / Number(all?.charged_micro));
    assert.match(
      await good("checks", "models"),
      /^MODEL +CHECKS +BAD +COST +REVENUE +SHARE\ntiny-3b +2 +1 +\$0\.000006 +\$[\d.]+ +[\d.]+ %\nall models +2 /,
    );
  });

  test(`${where} platform: tollgate admin history lists months of request records, and deletes those past the retention time`, async () => {
    type Month = { month: string; state: string; records: number; note: string };
    const name = `request_19${70 + months++}_01`;
    const [year] = name.match(/\d{4}/) ?? [];
    const floor = (month: string): string =>
      `00${Date.parse(month).toString(16).padStart(10, "0")}`.replace(/^(.{8})(.{4})$/, "$1-$2-0000-0000-000000000000");
    await query(
      `create table ${name} partition of request for values from ('${floor(`${year}-01-02`)}') to ('${floor(`${year}-02-01`)}')`,
    );
    const listed = await said<Month[]>("history", "list");
    const made = listed.find(({ month }) => month === `${year}-01`);
    assert.deepEqual([made?.state, made?.records], ["kept", 0]);
    assert.match(
      await good("history", "list"),
      /^MONTH +STATE +RECORDS +CHARGED +NOTE\n[\s\S]*^\d{4}-\d\d +kept +[1-9]\d*$/m,
    );
    assert.match(
      await good("history", "retain"),
      /^Records are kept forever: neither HISTORY_DAYS nor REFUSALS_DAYS is set\.$/,
    );
    const env = { HISTORY_DAYS: "100", REFUSALS_DAYS: "100" };
    Object.assign(process.env, env);
    try {
      type Done = { refusals: number; months: Month[] };
      const would = await said<Done>("history", "retain", "--dry-run");
      assert.deepEqual(
        would.months.map(({ month, state }) => [month, state]),
        [[`${year}-01`, "due"]],
      );
      assert.match(await good("history", "retain", "--dry-run"), /^Records of refusals to delete: 0\.\nMONTH /);
      assert.match(
        await good("history", "retain"),
        new RegExp(`deleted: 0\\.\\n[\\s\\S]*^${year}-01 +closed +0 +\\$0\\.00$`, "m"),
      );
      assert.match(await good("history", "retain"), /No month is old enough to delete\.$/);
    } finally {
      for (const variable of Object.keys(env)) delete process.env[variable];
    }
    const closed = (await said<Month[]>("history", "list")).find(({ month }) => month === `${year}-01`);
    assert.equal(closed?.state, "closed");
    assert.equal((await said<{ balanced: boolean }>("ledger", "check")).balanced, true);
  });

  test(`${where} platform: tollgate admin operator creates (with a password from standard input), lists and removes an operator`, async () => {
    const listed = async () => (await said<{ email: string }[]>("operator", "list")).map((each) => each.email);
    const email = `shell-${people++}@example.test`;
    const flags = ["operator", "create", "--email", email.toUpperCase(), "--name", "From the shell", "--password", "-"];
    const made = await shell([...flags, "--json"], "the password of the shell\n");
    assert.equal(made.code, 0, made.out);
    assert.deepEqual({ ...JSON.parse(made.out), id: "" }, { id: "", email, promoted: false });
    const again = await run("operator", "create", "--email", email);
    assert.deepEqual(again, { code: 0, out: `${email} is now an operator and signs in as before.` });
    assert.ok((await listed()).includes(email));
    assert.match(await good("operator", "list"), new RegExp(`^EMAIL +NAME +SECOND FACTOR +LAST SEEN\\n[^]*${email}`));
    const remove = () => run("operator", "remove", "--email", email);
    if (isAlive(platform.ready.pids.gateway)) {
      const client = await new ConsoleClient(platform).signIn({ email, password: "the password of the shell" });
      assert.equal((await client.ask("GET", "operator/overview")).status, 200);
      assert.deepEqual(await remove(), { code: 0, out: `${email} is no longer an operator.` });
      assert.equal((await client.ask("GET", "operator/overview")).status, 401);
    } else await remove();
    assert.ok(!(await listed()).includes(email));
    const noFactor = await run("operator", "reset-second-factor", "--email", email);
    assert.deepEqual([noFactor.code, /is not an operator/.test(noFactor.out)], [1, true]);
  });

  test(`${where} platform: tollgate admin catalogue reloads the catalogue, and the audit log has every command`, async () => {
    assert.match(await good("catalogue", "reload"), /^Every gateway reloads/);
    assert.deepEqual(await said("catalogue", "reload"), { announced: true });
    type Act = { operator: string; action: string; outcome: string; details: object };
    const acts = await said<Act[]>("audit", "list");
    for (const action of [
      "account.open",
      "account.grant",
      "account.suspend",
      "account.restore",
      "key.create",
      "key.limits",
      "key.set",
      "key.rotate",
    ]) {
      assert.ok(
        acts.some((act) => act.action === action && act.outcome === "done"),
        action,
      );
    }
    for (const action of [
      "host_token.create",
      "key.revoke",
      "node.quarantine",
      "node.release",
      "payout.create",
      "payout.paid",
      "withheld.release",
      "history.retain",
      "operator.create",
      "operator.remove",
      "catalogue.reload",
    ]) {
      assert.ok(
        acts.some((act) => act.action === action && act.outcome === "done"),
        action,
      );
    }
    assert.ok(
      acts.some(({ action, outcome }) => action === "key.revoke" && outcome === "failed"),
      "what failed too",
    );
    assert.ok(acts.every(({ operator }) => operator === "command line"));
    assert.doesNotMatch(JSON.stringify(acts), /t(sk|ht)_live_\w+_|password of/);
    assert.match(
      await good("audit", "list"),
      /^TIME +OPERATOR .*\n\d{4}-\S+Z {2}command line {2}catalogue\.reload +catalogue +done +\{/,
    );
  });
}

let query: (sql: string) => Promise<unknown> = (sql) => platform.query(sql);

describe("admin commands on a live platform", () => {
  everyCommand("live");

  test("a key created by an admin command works immediately, and is refused once a command revokes it", async () => {
    const made = await said<{ id: string; secret: string }>("key", "create", builder, "for a moment");
    const theirs = { ...platform, ready: { ...platform.ready, api_key: made.secret } };
    const status = async (): Promise<number> => (await sendScriptedChat(theirs, { text: "x" })).status;
    assert.notEqual(await status(), 401);
    await good("key", "revoke", made.id);
    await eventually("it is refused", async () => (await status()) === 401);
  });

  test("admin secrets replaces the secrets in the data directory, and removes old ones once nothing depends on them", async () => {
    const file = join(dataDir, "secrets.json");
    const before = await readFile(file, "utf8");
    try {
      assert.match(
        await good("secrets"),
        /^Pepper +[0-9a-f]{16}\nSessions +signed with a key derived from the pepper\n/,
      );
      assert.match(await good("secrets", "rotate", "pepper"), /^Replaced\. Next: restart the gateway/);
      const { code, out } = await run("secrets");
      assert.deepEqual([code, /^API keys +(\d+) of \1 not used since/m.test(out)], [3, true], out);
      assert.match(
        out,
        /^Pepper +[0-9a-f]{16}, in place of [0-9a-f]{16}$[\s\S]*The old secret is still needed: do not remove it\.$/m,
      );
      const again = await run("secrets", "rotate", "pepper");
      assert.deepEqual(again, {
        code: 1,
        out: "the pepper is already being replaced. Finish that replacement first: tollgate admin secrets forget",
      });
      const early = await run("secrets", "forget", "pepper");
      assert.deepEqual(
        [early.code, / still need the old pepper and would stop working/.test(early.out)],
        [1, true],
        early.out,
      );
      assert.match(await good("secrets", "forget", "pepper", "--force"), /^Removed the old secret\./);
      assert.deepEqual(await run("secrets", "forget", "plane"), {
        code: 1,
        out: 'no old secret is stored for "plane"',
      });
      assert.deepEqual(Object.keys(await said<object>("secrets", "rotate", "receipts")), ["rotated", "next"]);
      const to = join(dataDir, "taken");
      const taken = await said<{ deployment: string; files: { name: string }[] }>("backup", "--to", to);
      const names = taken.files.map(({ name }) => name.replace(/^spool.*/, "spool"));
      assert.deepEqual(names.slice(0, 2), ["secrets.json", "gateway.env"]);
    } finally {
      await writeFile(file, before);
    }
  });
});

test("an admin command refuses a grant above an account's maximum balance, and records the refusal in the audit log", async () => {
  const { id } = await said<{ id: string }>("account", "open", "builder", "Rich");
  for (let i = 0; i < 9; i++) await good("grant", id, "--usd", "1000000", "--reason", "a great deal");
  const refused = await run("grant", id, "--usd", "0.000001", "--reason", "a little more");
  assert.deepEqual(refused, { code: 1, out: "--usd must not bring the balance above 9000000 dollars" });
  const [last] = await said<{ subject: string; outcome: string }[]>("audit", "list");
  assert.deepEqual([last?.subject, last?.outcome], [id, "failed"]);
});

describe("an admin command answers invalid input with a one-line error and a failing exit code, and changes nothing", () => {
  const unknown = {
    acc: `acc_${"0".repeat(25)}1`,
    key: `key_${"0".repeat(25)}1`,
    node: `node_${"0".repeat(25)}1`,
    pay: `pay_${"0".repeat(25)}1`,
  };
  const rows = (): [string[], RegExp][] => [
    [["account", "open", "robot", "R"], /^KIND must be builder or host$/],
    [["account", "open", "builder", " "], /^NAME must have 1 to 200 characters$/],
    [["account", "open", "builder"], /^NAME is missing: admin account open takes KIND NAME$/],
    [["account", "open", "builder", "N", "--owner", "x@y.test"], /^--owner: nobody has signed up as x@y\.test$/],
    [["account", "list", "--kind", "robot"], /^--kind must be builder or host$/],
    [["account", "list", "extra"], /^admin account list takes no arguments: 'extra' is not expected$/],
    [["account", "suspend", unknown.acc, "--reason", "r"], new RegExp(`^there is no account ${unknown.acc}$`)],
    [["account", "suspend", builder], /^--reason is missing: the reason, in 1 to 200 characters, for the audit log$/],
    [["account", "suspend", builder, "--reason", " "], /^--reason must say why, in 1 to 200 characters$/],
    [["account", "lsit"], /^there is no command 'admin account lsit'; did you mean 'admin account list'\?$/],
    [["account", "restore", "nonsense", "--reason", "r"], /^there is no account nonsense$/],
    [["suspend", builder, "--reason", "x".repeat(201)], /^--reason must say why/],
    [["grant", builder, "--reason", "r"], /^--usd is missing: amount in dollars, more than 0/],
    [["grant", builder, "--usd", "0", "--reason", "r"], /^--usd must be an amount in dollars/],
    [["grant", builder, "--usd", "1e6", "--reason", "r"], /^--usd must be an amount in dollars/],
    [["grant", builder, "--usd", "0.0000001", "--reason", "r"], /^--usd must be an amount in dollars/],
    [
      ["grant", builder, "--usd", "1000000.000001", "--reason", "r"],
      /^--usd must be an amount in dollars, .* at most 1000000/,
    ],
    [["grant", builder, "--usd", "5"], /^--reason is missing/],
    [["grant", host, "--usd", "5", "--reason", "r"], /^credit is granted to builder accounts only$/],
    [["account", "alert", builder, "--reason", "r"], /^--below is missing/],
    ...["2,5", "0.009", "1000000.01", "-1", ""].map((usd): [string[], RegExp] => [
      ["account", "alert", builder, `--below=${usd}`, "--reason", "r"],
      /^--below must be an amount in dollars from 0\.01 to 1000000, such as 2 or 0\.50, or "none"$/,
    ]),
    [
      ["account", "alert", host, "--below", "2", "--reason", "r"],
      /^this is a host account, and only builder accounts have credit$/,
    ],
    [["account", "top-up-off", builder], /^--reason is missing/],
    [["audit", "list", "--outcome", "good"], /^--outcome must be one of done, refused, failed, running$/],
    [["audit", "list", "--account", "acme"], /^--account must be an account ID \(acc_…\)$/],
    [
      ["audit", "list", "--from", "2026-02-30", "--to", "soon", "--operator", "x".repeat(201)],
      /^--operator must have at most 200 characters; --from must be a time: .*; --to must be a time: /,
    ],
    [["key", "list", unknown.acc], /^there is no account/],
    [["key", "create", unknown.acc, "k"], /^there is no account/],
    [["key", "create", builder, ""], /^NAME must have 1 to 200 characters$/],
    [["key", "create", host, "k"], new RegExp(`^ACCOUNT must be a builder account, and ${host} is a host account$`)],
    [
      ["host-token", "create", builder, "t"],
      new RegExp(`^ACCOUNT must be a host account, and ${builder} is a builder account$`),
    ],
    [["key", "revoke", unknown.key], /^there is no such key, or it is revoked$/],
    [["key", "revoke", builder], /is not a key ID \(key_…\)$/],
    [["key", "show", unknown.key], /^there is no such key, or it is revoked$/],
    [["key", "set", unknown.key], /^name at least one setting to change$/],
    [["key", "set", unknown.key, "--budget-day", "1"], /^there is no such key, or it is revoked$/],
    [
      ["key", "create", builder, "k", "--budget-day", "1,5", "--expires", "2020-01-01", "--models", "none"],
      /^--budget-day must be an amount in dollars, or "none": .*; --expires must be a future day or time, .*; --models must be "all", or some of .*tiny-3b/,
    ],
    [["key", "create", builder, "k", "--in-flight", "65"], /^--in-flight must be 64 or less, or "none"$/],
    [
      ["key", "rotate", unknown.key, "--keep-old", "31d"],
      /^--keep-old must be a time of at most 30 days: 0, 90s, 1h, 7d$/,
    ],
    [["key", "limits", unknown.key], /^there is no such key, or it is revoked$/],
    [["key", "limits", unknown.key, "--in-flight", "many"], /^--in-flight must be a whole number, or "default"$/],
    [["key", "limits", unknown.key, "--colour", "red"], /^there is no flag --colour$/],
    [["key", "limits", unknown.key, "--in-fligth", "2"], /^there is no flag --in-fligth; did you mean --in-flight\?$/],
    [["overview", "--days", "32"], /^--days must be a whole number from 1 to 31$/],
    [["account", "show", unknown.acc], /^there is no account/],
    [["node", "list", "--state", "online"], /^--state must be one of registered, ready, paused, quarantined, retired$/],
    [["node", "list", "--host", "nobody"], /^--host must be an account ID \(acc_…\)$/],
    [["node", "show", unknown.node], /^there is no such node$/],
    [["node", "quarantine", node], /^--reason is missing/],
    [["node", "quarantine", unknown.node, "--reason", "r"], /^there is no such node$/],
    [["node", "release", "nonsense"], /^nonsense is not a node ID \(node_…\)$/],
    [["operator", "create", "--email", "nobody"], /^--email must be an email address$/],
    [
      ["operator", "create", "--email", "new@example.test"],
      /^new@example\.test has not signed up\. Create this user with a password: --password -$/,
    ],
    [["operator", "create", "--email", "new@example.test", "--password", "hunter22"], /^--password must be "-"/],
    [["payout", "show", unknown.pay], /^there is no batch/],
    [["payout", "paid", unknown.pay], /^there is no batch/],
    [["payout", "export", unknown.pay], /^there is no batch/],
    [["payout", "create", "--minimum-usd", "none"], /^--minimum-usd must be an amount in dollars/],
    [["payout", "create", "--note", "x".repeat(201)], /^--note must have at most 200 characters/],
    [["payout", "paid", builder], /is not a batch ID \(pay_…\)$/],
    [["withheld", "list", "--node", "barn"], /^--node must be an id that begins with node_, not barn$/],
    [["withheld", "release", "--node", node], /^--note is missing/],
    [["withheld", "release", "--node", node, "--note", " "], /^--note must have 1 to 200 characters and no control/],
    [["withheld", "release", "--note", "n"], /^exactly one of --request and --node is required$/],
    [["checks", "list", "--node", "barn"], /^--node must be a node's id \(node_…\)$/],
    [["secrets", "rotate", "salt"], /^SECRET must be one of pepper, plane, receipts$/],
    [["secrets", "forget", "receipts"], /^SECRET must be pepper or plane$/],
    [["backup"], /^--to is missing: the folder to create; it will contain secrets$/],
    [["payout", "refund"], /^there is no command 'admin payout refund'; there are create, list, show, export, paid$/],
  ];

  test("refuses invalid arguments of every command", async () => {
    const counts = async (): Promise<unknown> =>
      query(
        "select (select count(*) from account), (select count(*) from api_key), (select count(*) from transfer), (select count(*) from identity)",
      );
    const before = await counts();
    for (const [args, complaint] of rows()) {
      const { code, out } = await run(...args);
      const isState =
        /^(there is no (account|such|batch)|--owner: nobody|credit is|this is a host account|ACCOUNT must|\S+ has not signed up)/.test(
          out,
        );
      assert.equal(code, isState ? 1 : 2, args.join(" "));
      assert.match(out.split("\n")[0] ?? "", complaint, args.join(" "));
    }
    assert.deepEqual(await counts(), before);
  });

  test("prints errors and help as readable text", async () => {
    const refused = await shell(["grant", builder, "--usd", "much", "--reason", "r"]);
    assert.deepEqual(refused, {
      code: 2,
      out: "error: --usd must be an amount in dollars, more than 0 and at most 1000000, such as 5 or 0.25. Next: tollgate admin grant --help\n",
    });
    const help = await shell(["grant", "--help"]);
    assert.equal(help.code, 0);
    assert.match(help.out, /^Usage: tollgate admin grant ACCOUNT --usd USD --reason TEXT \[--data DIR\] \[--json\]\n/);
    assert.match((await shell(["--version"])).out, /^tollgate \d+\.\d+\.\d+\n$/);
  });
});

describe("admin commands on a stopped platform", () => {
  before(async () => {
    assert.equal(await platform.stop(), 0);
  });

  test("an admin command starts the private database and stops it again", async () => {
    assert.match(await good("account", "list"), /Local builder/);
    assert.match(await good("grant", builder, "--usd", "1", "--reason", "while it slept"), /builder/);
    const check = runTollgate(["admin", "ledger", "check", "--json", "--data", dataDir]);
    assert.equal(await check.ended, 0, check.output());
    assert.deepEqual(await findPostmaster(join(dataDir, "postgres", "cluster")), { kind: "none" });
  });

  describe("an admin command uses the private database if it already runs", () => {
    let close: () => Promise<void>;
    before(async () => {
      const log = createLog("silent");
      const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
      const client = new pg.Client(postgres.connection);
      await client.connect();
      query = (sql) => client.query(sql);
      close = async () => {
        await client.end();
        await postgres.stop();
      };
    });
    after(() => close());
    everyCommand("stopped");
  });
});
