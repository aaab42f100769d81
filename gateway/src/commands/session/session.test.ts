/** Tests login, console API calls and logout against a whole gateway, with the failures of each. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { runCommandLine } from "@tollgate/terminal/run-command-line.ts";
import { assertFailure } from "@tollgate/terminal/testing/command-table-checks.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import type { Browser } from "../../routes/testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../../routes/testing/platform.ts";
import { signInTestPerson } from "../../routes/testing/sign-in-test-person.ts";
import { explainFailure } from "../explain-failure.ts";
import { TOLLGATE_COMMANDS } from "../tollgate.ts";

let platform: TestPlatform;
let gateway: string;
let folder: string;
before(async () => {
  platform = await openTestPlatform();
  await platform.app.listen({ port: 0, host: "127.0.0.1" });
  gateway = `http://127.0.0.1:${(platform.app.server.address() as AddressInfo).port}`;
});
after(() => platform.close());
beforeEach(async (t) => {
  folder = await mkdtemp(join(tmpdir(), "tollgate-session-"));
  await platform.pool.query("delete from identity_attempt");
  (t as { after(done: () => Promise<void>): void }).after(() => rm(folder, { recursive: true }));
});

async function tollgate(args: string[], terminal = new FakeTerminal()) {
  const code = await runCommandLine(
    TOLLGATE_COMMANDS,
    args,
    { terminal, env: { XDG_CONFIG_HOME: folder } },
    explainFailure,
  );
  return { code, terminal };
}

/** A terminal whose person confirms or rejects the printed code in that browser. */
function answering(browser: Browser, confirm: boolean): FakeTerminal {
  const terminal = new FakeTerminal();
  let asked = false;
  terminal.heard = () => {
    const code = /confirm the code (\S+)/.exec(terminal.remarks.join("\n"))?.[1];
    if (code === undefined || asked) return;
    asked = true;
    void browser.send("POST", `/console/api/script-logins/${code}`, { body: { confirm } });
  };
  return terminal;
}

const file = (): string => join(folder, "tollgate", "session.json");

async function loggedIn(flags: string[] = []) {
  const person = await signInTestPerson(platform, [{ kind: "builder" }]);
  const { code, terminal } = await tollgate(["login", "--gateway", gateway, ...flags], answering(person.browser, true));
  assert.equal(code, 0, terminal.everything);
  return { ...person, terminal };
}

describe("tollgate login", () => {
  test("stores a session that its person confirmed, readable only by its owner, and never prints the token", async () => {
    const { email, terminal } = await loggedIn();
    assert.match(terminal.text, new RegExp(`^logged in to ${gateway} as ${email}; it can only read, until \\d{4}-`));
    assert.match(terminal.remarks[0] ?? "", new RegExp(`^Open ${gateway}/console/authorize\\?code=`));
    const kept = JSON.parse(await readFile(file(), "utf8"));
    assert.deepEqual([kept.gateway, kept.access], [gateway, "read"]);
    assert.match(kept.token, /^tgs_/);
    assert.ok(!terminal.everything.includes(kept.token));
    assert.equal((await stat(file())).mode & 0o777, 0o600);
  });

  test("prints JSON with --json", async () => {
    const { email, terminal } = await loggedIn(["--json", "--write"]);
    const { expires_at, ...rest } = terminal.json<Record<string, unknown>>();
    assert.deepEqual(rest, { gateway, email, access: "write" });
    assert.equal(typeof expires_at, "number");
  });

  test("stores nothing if the person refuses", async () => {
    const { browser } = await signInTestPerson(platform);
    const { code, terminal } = await tollgate(["login", "--gateway", gateway], answering(browser, false));
    assert.equal(code, 1);
    assert.match(terminal.remarks.at(-1) ?? "", /refused in the browser\. Next: run tollgate login again$/);
    await assert.rejects(stat(file()), { code: "ENOENT" });
  });

  test("fails with a one-line message if the URL is invalid or no gateway answers there", async () => {
    for (const address of ["http://127.0.0.1:1", "gateway.example", "ftp://gateway.example"]) {
      const { code, terminal } = await tollgate(["login", "--gateway", address]);
      assertFailure(terminal, code, address);
    }
  });
});

describe("tollgate api", () => {
  test("prints JSON responses as JSON and CSV unchanged", async () => {
    const { accountIds } = await loggedIn();
    const { terminal } = await tollgate(["api", "GET", "balance"]);
    assert.equal(terminal.json<{ balance_micro: string }>().balance_micro, "5000000.000000");
    const me = await tollgate(["api", "GET", "/console/api/me", "--json"]);
    assert.equal(me.terminal.lines.length, 1);
    const account = publicId("acc", accountIds[0] as Uuid);
    const csv = await tollgate(["api", "GET", "requests.csv", "--account", account]);
    assert.match(csv.terminal.lines[0] ?? "", /^id,/);
  });

  test("changes data only after a login with --write", async () => {
    const create = ["api", "POST", "keys", "--data", '{"name":"made by a script"}'];
    await loggedIn();
    const { code, terminal } = await tollgate(create);
    assertFailure(terminal, code, "a session that reads");
    assert.match(terminal.everything, /session_read_only.*Next: run tollgate login --write$/);
    await loggedIn(["--write"]);
    assert.match(String((await tollgate(create)).terminal.json<{ secret: string }>().secret), /^tsk_live_/);
    const piped = new FakeTerminal({ input: '{"name":"another"}' });
    assert.equal((await tollgate(["api", "POST", "keys", "--data", "-"], piped)).code, 0);
  });

  test("reports every failure in one line", async () => {
    for (const args of [["api", "GET", "me"], ["logout"]]) {
      const { code, terminal } = await tollgate(args);
      assertFailure(terminal, code, "without a session");
    }
    await loggedIn();
    for (const args of [
      ["GET", "nothing"],
      ["GET", "../../v1/models"],
      ["POST", "keys", "--data", "{"],
      ["GET", "usage?by=nothing"],
    ]) {
      const { code, terminal } = await tollgate(["api", ...args]);
      assertFailure(terminal, code, args.join(" "));
    }
    await writeFile(file(), '{"token":"tgs_secret"');
    const { code, terminal } = await tollgate(["api", "GET", "me"]);
    assertFailure(terminal, code, "a damaged file");
    assert.ok(!terminal.everything.includes("secret"));
  });
});

test("tollgate logout ends the session at the gateway and deletes it from this machine", async () => {
  await loggedIn();
  const kept = await readFile(file(), "utf8");
  const { terminal } = await tollgate(["logout"]);
  assert.equal(terminal.text, `logged out of ${gateway}`);
  await assert.rejects(stat(file()), { code: "ENOENT" });
  await writeFile(file(), kept);
  const { code, terminal: after } = await tollgate(["api", "GET", "me"]);
  assertFailure(after, code, "a session that ended");
  assert.match(after.everything, /not_authenticated.*Next: run tollgate login/);
});
