/** The tests of the commands for accounts, credit, API keys and host tokens. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { parseId } from "../../gateway/src/base/ids.ts";
import type { AdminPlatform } from "./platform.ts";

export function testAccountCommands(where: string, open: () => AdminPlatform): void {
  let admin: AdminPlatform;
  before(() => {
    admin = open();
  });

  test(`${where} platform: tollgate admin account lists, opens, suspends and restores accounts; admin grant adds credit`, async () => {
    assert.match(await admin.good("account", "list"), /^ACCOUNT +KIND +BALANCE +HELD +STATE +NAME +OWNERS$/m);
    assert.match(
      await admin.good("account", "list"),
      new RegExp(`^${admin.builder}  builder +\\$\\d+\\.\\d{2,} +\\$0\\.00  active +Local builder +builder@`, "m"),
    );
    assert.match(
      await admin.good("account", "list", "--kind", "host", "--q", "local h"),
      new RegExp(`^${admin.host}  host `, "m"),
    );
    assert.equal(await admin.good("account", "list", "--q", "nobody at all"), "No account matches.");
    type Entry = { id: string; name: string; balance_micro: string; suspendedAt: string | null };
    const opened = await admin.said<Entry>("account", "open", "builder", "From the shell");
    assert.deepEqual([opened.name, opened.balance_micro], ["From the shell", "0.000000"]);
    assert.match(
      await admin.good("account", "open", "host", "Barn"),
      /^Account {2}acc_\w{26}\nKind {5}host\nName {5}Barn\nBalance {2}\$0\.00\n[\s\S]*^Owners {3}nobody$/m,
    );
    const { email } = admin.platform.ready.builder;
    const owned = await admin.said<Entry & { owners: string[] }>(
      "account",
      "open",
      "builder",
      "Theirs",
      "--owner",
      email.toUpperCase(),
    );
    assert.deepEqual(owned.owners, [email]);
    assert.match(await admin.good("grant", opened.id, "--usd", "0.25", "--reason", "to try"), /^Balance {2}\$0\.25$/m);
    const granted = await admin.said<Entry>("grant", opened.id, "--usd", "5", "--reason", "to try");
    assert.equal(granted.balance_micro, "5250000.000000");
    assert.deepEqual(await admin.said<Entry>("account", "show", opened.id), granted);
    assert.match(await admin.good("account", "show", opened.id), /^Balance {2}\$5\.25$/m);
    assert.match(await admin.good("suspend", opened.id, "--reason", "unpaid"), /^State {4}SUSPENDED since \S+Z$/m);
    assert.match(
      await admin.good("account", "suspend", opened.id, "--reason", "unpaid"),
      /^State {4}SUSPENDED since \S+Z$/m,
    );
    assert.ok((await admin.said<Entry>("account", "suspend", opened.id, "--reason", "unpaid")).suspendedAt);
    assert.equal((await admin.said<Entry>("account", "restore", opened.id, "--reason", "paid")).suspendedAt, null);
    assert.doesNotMatch(await admin.good("account", "restore", opened.id, "--reason", "paid"), /SUSPENDED/);
  });

  test(`${where} platform: tollgate admin account sets a builder's low-credit alert and turns off its automatic top-up`, async () => {
    type Entry = { id: string; alert_mark_micro: string | null; top_up: Record<string, unknown> | null };
    const { id, ...before } = await admin.said<Entry>("account", "open", "builder", "Careful");
    assert.deepEqual([before.alert_mark_micro, before.top_up], [null, null]);
    assert.match(await admin.good("account", "show", id), /^Alert {4}none\nTop-up {3}never set$/m);
    const why = ["--reason", "asked for"];
    assert.match(
      await admin.good("account", "alert", id, "--below", "2.50", ...why),
      /^Alert {4}below \$2\.50, which it is$/m,
    );
    assert.equal((await admin.said<Entry>("account", "show", id)).alert_mark_micro, "2500000.000000");
    assert.match(await admin.good("account", "alert", id, "--below", "none", ...why), /^Alert {4}none$/m);
    const refused = await admin.run("account", "top-up-off", id, ...why);
    assert.deepEqual(refused, { code: 1, out: "this account has no automatic top-up" });
    await admin.query(
      `insert into auto_topup (account_id, enabled, amount, mark, month_max)
       values ('${parseId("acc", id)}', true, 20000000000000, 5000000000000, 100000000000000)`,
    );
    const settings = "\\$20\\.00 when below \\$5\\.00, \\$0\\.00 of \\$100\\.00 this month";
    assert.match(await admin.good("account", "show", id), new RegExp(`^Top-up {3}on: ${settings}$`, "m"));
    const off = await admin.said<Entry>("account", "top-up-off", id, ...why);
    assert.deepEqual([off.top_up?.enabled, off.top_up?.amount_micro], [false, "20000000.000000"]);
    assert.match(await admin.good("account", "show", id), new RegExp(`^Top-up {3}off: ${settings}$`, "m"));
    const shown = await admin.good("account", "show", admin.host);
    assert.doesNotMatch(shown, /Alert|Top-up/);
    assert.match(shown, /^Own use {2}\$[\d.]+ earned from its own requests$/m);
    type Act = { action: string; outcome: string; subject: string };
    const acts = await admin.said<Act[]>("audit", "list", "--account", id);
    assert.deepEqual(
      acts.map(({ action, outcome }) => `${action} ${outcome}`),
      ["account.top_up_off done", "account.top_up_off failed", "account.alert done", "account.alert done"],
    );
    const count = async (...flags: string[]) =>
      (await admin.said<Act[]>("audit", "list", "--account", id, ...flags)).length;
    assert.deepEqual(
      [
        await count("--action", "account.alert"),
        await count("--outcome", "failed"),
        await count("--operator", "COMMAND"),
        await count("--operator", "olga@"),
        await count("--from", "2020-01-01", "--to", "2999-01-01"),
        await count("--to", "2020-01-01"),
        await count("--subject", admin.builder),
      ],
      [2, 1, 4, 0, 4, 0, 0],
    );
    assert.ok((await admin.said<Act[]>("audit", "list", "--subject", id)).every(({ subject }) => subject === id));
    assert.equal(await admin.good("audit", "list", "--action", "moon.paint"), "No action matches.");
  });

  test(`${where} platform: tollgate admin commands create, list, limit and revoke keys and host tokens`, async () => {
    type Made = { id: string; name: string; secret: string };
    const made = await admin.said<Made>("key", "create", admin.builder, "from the shell");
    assert.match(made.secret, /^tsk_live_\w{12}_\w{43}$/);
    assert.match(
      await admin.good("key", "create", admin.builder, "another"),
      /^Key {5}key_\w{26}\nName {4}another\nSecret {2}tsk_live_\w{12}_\w{43}$/,
    );
    assert.match(
      (await admin.said<Made>("host-token", "create", admin.host, "a token")).secret,
      /^tht_live_\w{12}_\w{43}$/,
    );
    assert.match(
      await admin.good("host-token", "create", admin.host, "a token"),
      /^Host token {2}hst_\w{26}\nName .*\nSecret {6}tht_live_/,
    );
    const list = await admin.good("key", "list", admin.builder);
    assert.match(
      list,
      /^KEY +BEGINS +NAME +STATE +LAST USED +THIS MONTH +BUDGET\/DAY +BUDGET\/MONTH +EXPIRES +MODELS +REQUESTS\/MIN +TOKENS\/MIN +AT ONCE$/m,
    );
    const shown = `${made.id}  ${made.secret.slice(0, 21)}_…  from the shell +active +never +\\$0\\.00 +none +none +never +all`;
    assert.match(list, new RegExp(`^${shown} +600 +2000000 +64$`, "m"));
    const defaultLimits = { requestsPerMinute: 600, tokensPerMinute: 2_000_000, inFlight: 64 };
    const none = { requestsPerMinute: null, tokensPerMinute: null, inFlight: null };
    const listed = await admin.said<Record<string, unknown>[]>("key", "list", admin.builder);
    const { account, limits: inForce, ownLimits, spend_this_month } = listed.find(({ id }) => id === made.id) ?? {};
    assert.deepEqual([account, inForce, ownLimits], [admin.builder, defaultLimits, none]);
    assert.deepEqual(spend_this_month, { requests: 0, charge_micro: "0.000000" });
    assert.ok(!JSON.stringify(listed).includes(made.secret) && !list.includes(made.secret));
    const limits = ["--requests-per-minute", "5", "--in-flight", "2"];
    assert.match(
      await admin.good("key", "limits", made.id, ...limits),
      /^Set the key's limits on every gateway: 5\* requests\/min, 2000000 tokens\/min, 2\* at once\.$/,
    );
    const own = { requestsPerMinute: 5, tokensPerMinute: null, inFlight: 2 };
    const holds = { ...defaultLimits, requestsPerMinute: 5, inFlight: 2 };
    assert.deepEqual(await admin.said("key", "limits", made.id, ...limits, "--tokens-per-minute", "default"), {
      id: made.id,
      limits: holds,
      ownLimits: own,
      defaultLimits,
    });
    assert.match(
      await admin.good("key", "list", admin.builder),
      new RegExp(`^${made.id} .* 5\\* +2000000 +2\\*$`, "m"),
    );
    const back = await admin.said<{ ownLimits: object }>("key", "limits", made.id);
    assert.deepEqual(back.ownLimits, none);
    assert.deepEqual(await admin.said("key", "revoke", made.id), { id: made.id, revoked: true });
    assert.match((await admin.run("key", "revoke", made.id)).out, /or it is revoked/);
  });

  test(`${where} platform: tollgate admin key sets a key's budgets, expiry, models and limits, and rotates its secret`, async () => {
    type Key = Record<string, unknown> & { id: string; secret: string };
    const settings = ["--budget-day", "2.50", "--expires", "2999-01-31", "--models", "tiny-3b", "--in-flight", "4"];
    const { id, secret } = await admin.said<Key>("key", "create", admin.builder, "for the intern", ...settings);
    const key = await admin.said<Key>("key", "show", id);
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
    const changed = await admin.good(
      "key",
      "set",
      id,
      "--name",
      "renamed",
      "--budget-month",
      "0.000000000001",
      ...none,
    );
    assert.match(changed, /^Name {8}renamed$/m);
    assert.match(changed, /^Today {7}\$0\.00, no budget\nThis month {2}\$0\.00 of \$0\.000000000001$/m);
    assert.match(
      changed,
      /^Expires {5}never\nModels {6}all\nLimits {6}600 requests\/min, 2000000 tokens\/min, 64 at once$/m,
    );
    const kept = await admin.said<Key & { old_secret_until: string }>("key", "rotate", id, "--keep-old", "1h");
    assert.ok(kept.secret !== secret && Date.parse(kept.old_secret_until) > Date.now());
    assert.match(await admin.good("key", "show", id), /^Old secret {2}works until \S+Z$/m);
    assert.match(await admin.good("key", "rotate", id), /^Secret {6}tsk_live_\w{12}_\w{43}\nOld secret {2}ended$/m);
    await admin.good("key", "revoke", id);
    assert.match((await admin.run("key", "rotate", id)).out, /^there is no such key, or it is revoked/);
  });
}
