/**
 * Tests every `tollgate admin` command on a running platform and on a stopped one: its text, its JSON, and its errors
 * for invalid input. All tests share one platform; the other files of this folder contain the tests by subject. Some
 * commands run as processes, to check their exit codes.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { findPostmaster } from "../../gateway/src/db/private-postgres/postmaster.ts";
import { startPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { testAccountCommands } from "./accounts-and-keys.ts";
import { testOperatorCommands } from "./history-and-operators.ts";
import { invalidCommands } from "./invalid-input.ts";
import { testNodeCommands } from "./nodes-and-money.ts";
import { type AdminPlatform, startAdminPlatform } from "./platform.ts";

let admin: AdminPlatform;
before(async () => {
  admin = await startAdminPlatform();
});
after(() => admin?.close());

/** Defines a test for every command, as text and as JSON. Each test leaves the state that the next one needs. */
function everyCommand(where: string): void {
  testAccountCommands(where, () => admin);
  testNodeCommands(where, () => admin);
  testOperatorCommands(where, () => admin);
}

describe("admin commands on a live platform", () => {
  everyCommand("live");

  test("a key created by an admin command works immediately, and is refused once a command revokes it", async () => {
    const made = await admin.said<{ id: string; secret: string }>("key", "create", admin.builder, "for a moment");
    const theirs = { ...admin.platform, ready: { ...admin.platform.ready, api_key: made.secret } };
    const status = async (): Promise<number> => (await sendScriptedChat(theirs, { text: "x" })).status;
    assert.notEqual(await status(), 401);
    await admin.good("key", "revoke", made.id);
    await eventually("it is refused", async () => (await status()) === 401);
  });

  test("admin secrets replaces the secrets in the data directory, and removes old ones once nothing depends on them", async () => {
    const file = join(admin.dataDir, "secrets.json");
    const before = await readFile(file, "utf8");
    try {
      assert.match(
        await admin.good("secrets"),
        /^Pepper +[0-9a-f]{16}\nSessions +signed with a key derived from the pepper\n/,
      );
      assert.match(await admin.good("secrets", "rotate", "pepper"), /^Replaced\. Next: restart the gateway/);
      const { code, out } = await admin.run("secrets");
      assert.deepEqual([code, /^API keys +(\d+) of \1 not used since/m.test(out)], [3, true], out);
      assert.match(
        out,
        /^Pepper +[0-9a-f]{16}, in place of [0-9a-f]{16}$[\s\S]*The old secret is still needed: do not remove it\.$/m,
      );
      const again = await admin.run("secrets", "rotate", "pepper");
      assert.deepEqual(again, {
        code: 1,
        out: "the pepper is already being replaced. Finish that replacement first: tollgate admin secrets forget",
      });
      const early = await admin.run("secrets", "forget", "pepper");
      assert.deepEqual(
        [early.code, / still need the old pepper and would stop working/.test(early.out)],
        [1, true],
        early.out,
      );
      assert.match(await admin.good("secrets", "forget", "pepper", "--force"), /^Removed the old secret\./);
      assert.deepEqual(await admin.run("secrets", "forget", "plane"), {
        code: 1,
        out: 'no old secret is stored for "plane"',
      });
      assert.deepEqual(Object.keys(await admin.said<object>("secrets", "rotate", "receipts")), ["rotated", "next"]);
      const to = join(admin.dataDir, "taken");
      const taken = await admin.said<{ deployment: string; files: { name: string }[] }>("backup", "--to", to);
      const names = taken.files.map(({ name }) => name.replace(/^spool.*/, "spool"));
      assert.deepEqual(names.slice(0, 2), ["secrets.json", "gateway.env"]);
    } finally {
      await writeFile(file, before);
    }
  });
});

test("an admin command refuses a grant above an account's maximum balance, and records the refusal in the audit log", async () => {
  const { id } = await admin.said<{ id: string }>("account", "open", "builder", "Rich");
  for (let i = 0; i < 9; i++) await admin.good("grant", id, "--usd", "1000000", "--reason", "a great deal");
  const refused = await admin.run("grant", id, "--usd", "0.000001", "--reason", "a little more");
  assert.deepEqual(refused, { code: 1, out: "--usd must not bring the balance above 9000000 dollars" });
  const [last] = await admin.said<{ subject: string; outcome: string }[]>("audit", "list");
  assert.deepEqual([last?.subject, last?.outcome], [id, "failed"]);
});

describe("an admin command answers invalid input with a one-line error and a failing exit code, and changes nothing", () => {
  test("refuses invalid arguments of every command", async () => {
    const counts = async (): Promise<unknown> =>
      admin.query(
        "select (select count(*) from account), (select count(*) from api_key), (select count(*) from transfer), (select count(*) from identity)",
      );
    const before = await counts();
    for (const [args, complaint] of invalidCommands(admin)) {
      const { code, out } = await admin.run(...args);
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
    const refused = await admin.shell(["grant", admin.builder, "--usd", "much", "--reason", "r"]);
    assert.deepEqual(refused, {
      code: 2,
      out: "error: --usd must be an amount in dollars, more than 0 and at most 1000000, such as 5 or 0.25. Next: tollgate admin grant --help\n",
    });
    const help = await admin.shell(["grant", "--help"]);
    assert.equal(help.code, 0);
    assert.match(help.out, /^Usage: tollgate admin grant ACCOUNT --usd USD --reason TEXT \[--data DIR\] \[--json\]\n/);
    assert.match((await admin.shell(["--version"])).out, /^tollgate \d+\.\d+\.\d+\n$/);
  });
});

describe("admin commands on a stopped platform", () => {
  before(async () => {
    assert.equal(await admin.platform.stop(), 0);
  });

  test("an admin command starts the private database and stops it again", async () => {
    assert.match(await admin.good("account", "list"), /Local builder/);
    assert.match(await admin.good("grant", admin.builder, "--usd", "1", "--reason", "while it slept"), /builder/);
    const check = runTollgate(["admin", "ledger", "check", "--json", "--data", admin.dataDir]);
    assert.equal(await check.ended, 0, check.output());
    assert.deepEqual(await findPostmaster(join(admin.dataDir, "postgres", "cluster")), { kind: "none" });
  });

  describe("an admin command uses the private database if it already runs", () => {
    let close: () => Promise<void>;
    before(async () => {
      const log = createLog("silent");
      const postgres = await startPrivatePostgres({ dataDir: admin.dataDir, log, clock: systemClock });
      const client = new pg.Client(postgres.connection);
      await client.connect();
      admin.query = (sql) => client.query(sql);
      close = async () => {
        await client.end();
        await postgres.stop();
      };
    });
    after(() => close());
    everyCommand("stopped");
  });
});
