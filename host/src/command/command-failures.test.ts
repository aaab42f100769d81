/** Every command must fail in every broken environment with one line and a next step, without a stack trace. */
import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { runCommandLine } from "@tollgate/terminal/run-command-line.ts";
import { assertFailure, splitExampleWords } from "@tollgate/terminal/testing/command-table-checks.ts";
import { TOLLGATE_HOST_COMMANDS } from "../cli.ts";
import { sendJson, stubServer, unusedAddress } from "../testing/stub-http.ts";
import type { CommandContext } from "./command.ts";
import { explainHostError } from "./errors.ts";
import type { LoginFile } from "./login-file.ts";
import { commandHarness } from "./testing/command-harness.ts";

const TOKEN = "tht_live_abc_def";

interface Environment {
  name: string;
  /** Creates the broken environment and returns the gateway's address. */
  make: (t: TestContext, logins: LoginFile) => Promise<string>;
  /** Commands that succeed in this environment, so no failure is tested for them. */
  without: string[];
}

const loggedIn = (logins: LoginFile, gateway: string): Promise<void> =>
  logins.write({
    gateway,
    token: TOKEN,
    node: { id: "node_1", name: "box" },
    serving: { engine: "scripted", models: ["tiny-3b"] },
  });
const refusing = (status: number, body: object) => async (t: TestContext, logins: LoginFile) => {
  const gateway = await stubServer(t, (_request, response) => sendJson(response, body, status));
  await loggedIn(logins, gateway);
  return gateway;
};

/**
 * These commands need neither a gateway nor a login: `service print` prints the unit, and `logout` has nothing to
 * delete.
 */
const LOCAL = ["completion", "logout", "service print"];

const ENVIRONMENTS: Environment[] = [
  { name: "no login, and a gateway that is down", make: () => unusedAddress(), without: LOCAL },
  {
    name: "a gateway that is down",
    async make(_t, logins) {
      const gateway = await unusedAddress();
      await loggedIn(logins, gateway);
      return gateway;
    },
    without: LOCAL,
  },
  {
    name: "a token that is refused",
    make: refusing(401, {
      error: { message: "Unknown or revoked host token.", type: "invalid_request_error", code: "invalid_host_token" },
    }),
    without: LOCAL,
  },
  { name: "a server that is not a gateway", make: refusing(200, { hello: "world" }), without: LOCAL },
  {
    name: "a login file that is damaged",
    async make(_t, logins) {
      await mkdir(dirname(logins.path), { recursive: true });
      await writeFile(logins.path, `{"token": "${TOKEN}"`);
      return unusedAddress();
    },
    without: LOCAL,
  },
  {
    name: "a file where the configuration directory should be",
    async make(_t, logins) {
      await writeFile(dirname(logins.path), "");
      return unusedAddress();
    },
    without: ["completion", "service print"],
  },
  {
    name: "a login file without read permission",
    async make(_t, logins) {
      await loggedIn(logins, await unusedAddress());
      await chmod(logins.path, 0);
      return unusedAddress();
    },
    // Root can read every file, so no command fails.
    without: process.getuid?.() === 0 ? Object.keys(TOLLGATE_HOST_COMMANDS.commands) : LOCAL,
  },
];

for (const { name, make, without } of ENVIRONMENTS) {
  describe(name, () => {
    for (const [command, { example = "" }] of Object.entries(TOLLGATE_HOST_COMMANDS.commands)) {
      if (without.includes(command)) continue;
      test(`tollgate-host ${command} fails with a readable error`, async (t) => {
        const { context, terminal, logins } = await commandHarness(t);
        const gateway = await make(t, logins);
        const args = [...command.split(" "), ...splitExampleWords(example)];
        if (command === "login") args.push("--gateway", gateway);
        const supervisor: CommandContext["supervisor"] = () => ({
          hasParent: false,
          stopRequested: new Promise(() => {}),
          hurry: new AbortController().signal,
          tell: async () => {},
        });
        const surroundings = { ...context, supervisor, env: { TOLLGATE_HOST_TOKEN: TOKEN } };
        const code = await runCommandLine(TOLLGATE_HOST_COMMANDS, args, surroundings, explainHostError);
        assert.ok(!terminal.everything.includes(TOKEN), terminal.everything);
        // The doctor reports failures as results of its checks.
        if (command === "doctor" && terminal.lines.length > 0) assert.equal(code, 1);
        else assertFailure(terminal, code, args.join(" "));
      });
    }
  });
}
