/** The tests of the commands for request records, operators, the catalogue and the audit log. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { isAlive } from "@tollgate/stage/dev-platform.ts";
import { ConsoleClient } from "../console-client.ts";
import type { AdminPlatform } from "./platform.ts";

let people = 0;
let months = 0;

export function testOperatorCommands(where: string, open: () => AdminPlatform): void {
  let admin: AdminPlatform;
  before(() => {
    admin = open();
  });

  test(`${where} platform: tollgate admin history lists months of request records, and deletes those past the retention time`, async () => {
    type Month = { month: string; state: string; records: number; note: string };
    const name = `request_19${70 + months++}_01`;
    const [year] = name.match(/\d{4}/) ?? [];
    const floor = (month: string): string =>
      `00${Date.parse(month).toString(16).padStart(10, "0")}`.replace(/^(.{8})(.{4})$/, "$1-$2-0000-0000-000000000000");
    await admin.query(
      `create table ${name} partition of request for values from ('${floor(`${year}-01-02`)}') to ('${floor(`${year}-02-01`)}')`,
    );
    const listed = await admin.said<Month[]>("history", "list");
    const made = listed.find(({ month }) => month === `${year}-01`);
    assert.deepEqual([made?.state, made?.records], ["kept", 0]);
    assert.match(
      await admin.good("history", "list"),
      /^MONTH +STATE +RECORDS +CHARGED +NOTE\n[\s\S]*^\d{4}-\d\d +kept +[1-9]\d*$/m,
    );
    assert.match(
      await admin.good("history", "retain"),
      /^Records are kept forever: neither HISTORY_DAYS nor REFUSALS_DAYS is set\.$/,
    );
    const env = { HISTORY_DAYS: "100", REFUSALS_DAYS: "100" };
    Object.assign(process.env, env);
    try {
      type Done = { refusals: number; months: Month[] };
      const would = await admin.said<Done>("history", "retain", "--dry-run");
      assert.deepEqual(
        would.months.map(({ month, state }) => [month, state]),
        [[`${year}-01`, "due"]],
      );
      assert.match(await admin.good("history", "retain", "--dry-run"), /^Records of refusals to delete: 0\.\nMONTH /);
      assert.match(
        await admin.good("history", "retain"),
        new RegExp(`deleted: 0\\.\\n[\\s\\S]*^${year}-01 +closed +0 +\\$0\\.00$`, "m"),
      );
      assert.match(await admin.good("history", "retain"), /No month is old enough to delete\.$/);
    } finally {
      for (const variable of Object.keys(env)) delete process.env[variable];
    }
    const closed = (await admin.said<Month[]>("history", "list")).find(({ month }) => month === `${year}-01`);
    assert.equal(closed?.state, "closed");
    assert.equal((await admin.said<{ balanced: boolean }>("ledger", "check")).balanced, true);
  });

  test(`${where} platform: tollgate admin operator creates (with a password from standard input), lists and removes an operator`, async () => {
    const listed = async () => (await admin.said<{ email: string }[]>("operator", "list")).map((each) => each.email);
    const email = `shell-${people++}@example.test`;
    const flags = ["operator", "create", "--email", email.toUpperCase(), "--name", "From the shell", "--password", "-"];
    const made = await admin.shell([...flags, "--json"], "the password of the shell\n");
    assert.equal(made.code, 0, made.out);
    assert.deepEqual({ ...JSON.parse(made.out), id: "" }, { id: "", email, promoted: false });
    const again = await admin.run("operator", "create", "--email", email);
    assert.deepEqual(again, { code: 0, out: `${email} is now an operator and signs in as before.` });
    assert.ok((await listed()).includes(email));
    assert.match(
      await admin.good("operator", "list"),
      new RegExp(`^EMAIL +NAME +SECOND FACTOR +LAST SEEN\\n[^]*${email}`),
    );
    const remove = () => admin.run("operator", "remove", "--email", email);
    if (isAlive(admin.platform.ready.pids.gateway)) {
      const client = await new ConsoleClient(admin.platform).signIn({ email, password: "the password of the shell" });
      assert.equal((await client.ask("GET", "operator/overview")).status, 200);
      assert.deepEqual(await remove(), { code: 0, out: `${email} is no longer an operator.` });
      assert.equal((await client.ask("GET", "operator/overview")).status, 401);
    } else await remove();
    assert.ok(!(await listed()).includes(email));
    const noFactor = await admin.run("operator", "reset-second-factor", "--email", email);
    assert.deepEqual([noFactor.code, /is not an operator/.test(noFactor.out)], [1, true]);
  });

  test(`${where} platform: tollgate admin catalogue reloads the catalogue, and the audit log has every command`, async () => {
    assert.match(await admin.good("catalogue", "reload"), /^Every gateway reloads/);
    assert.deepEqual(await admin.said("catalogue", "reload"), { announced: true });
    type Act = { operator: string; action: string; outcome: string; details: object };
    const acts = await admin.said<Act[]>("audit", "list");
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
      await admin.good("audit", "list"),
      /^TIME +OPERATOR .*\n\d{4}-\S+Z {2}command line {2}catalogue\.reload +catalogue +done +\{/,
    );
  });
}
