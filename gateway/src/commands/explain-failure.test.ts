/** Tests that every command fails with one line and a next step, without a stack trace, in every broken environment. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommandLine } from "@tollgate/terminal/run-command-line.ts";
import { assertFailure, splitExampleWords } from "@tollgate/terminal/testing/command-table-checks.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { explainFailure } from "./explain-failure.ts";
import { TOLLGATE_COMMANDS } from "./tollgate.ts";

const PEPPER = "x".repeat(64);
const DEAD = "postgres://user:secret@127.0.0.1:1/tollgate";
/**
 * Commands that need no database, settings or files (session/session.test.ts), and doctor, which reports the failure
 * itself (doctor/doctor.test.ts).
 */
const NOTHING = ["completion", "admin plane new-key", "doctor", "login", "logout", "api"];
const NO_DATABASE = [...NOTHING, "receipt verify", "admin plane init"];

let folder: string;
/** The path of a file where a directory is expected. */
let file: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "tollgate-failures-"));
  file = join(folder, "file");
  await writeFile(file, "{");
});
after(() => rm(folder, { recursive: true }));

interface Environment {
  name: string;
  env: () => Record<string, string>;
  /** Replaces flags in the example of a command. */
  flags: () => Record<string, string>;
  /** Commands that do not need the broken part. */
  without: string[];
}

const ENVIRONMENTS: Environment[] = [
  {
    name: "an unreachable database",
    env: () => ({ DATABASE_URL: DEAD, KEY_PEPPER: PEPPER, DATA_DIR: join(folder, "data") }),
    flags: () => ({ database: DEAD, data: join(folder, "data"), backup: join(folder, "none") }),
    // `serve` waits for the database instead of failing (build/wait-for-dependencies.test.ts).
    without: [...NO_DATABASE, "serve"],
  },
  {
    name: "invalid settings",
    env: () => ({ PORT: "many", DATABASE_URL: "mysql://h/d" }),
    flags: () => ({ database: DEAD, data: join(folder, "data"), backup: join(folder, "none") }),
    without: NO_DATABASE,
  },
  {
    name: "no settings, and a directory without a platform",
    env: () => ({ DATA_DIR: join(folder, "nobody") }),
    flags: () => ({ data: join(folder, "nobody"), port: "1", dir: file, backup: join(folder, "none"), database: DEAD }),
    // Excluded, because `dev` and `serve` would start a platform in that directory.
    without: [...NOTHING, "dev", "serve"],
  },
  {
    name: "a file in place of a directory, and files that are not JSON",
    env: () => ({ DATA_DIR: join(file, "data") }),
    flags: () => ({ data: join(file, "data"), dir: join(file, "plane"), backup: file, keys: file, database: DEAD }),
    without: [...NOTHING, "serve"],
  },
];

for (const { name, env, flags, without } of ENVIRONMENTS) {
  describe(name, () => {
    for (const [command, { example = "", flags: known = {} }] of Object.entries(TOLLGATE_COMMANDS.commands)) {
      if (without.includes(command)) continue;
      test(`tollgate ${command} fails with a one-line message`, async () => {
        const given = Object.entries(flags()).filter(([flag]) => known[flag] !== undefined);
        const args = [...command.split(" "), ...splitExampleWords(example).filter((word) => word !== "--json")];
        args.push(...given.flatMap(([flag, value]) => [`--${flag}`, value]));
        const terminal = new FakeTerminal();
        const code = await runCommandLine(TOLLGATE_COMMANDS, args, { terminal, env: env() }, explainFailure);
        assertFailure(terminal, code, args.join(" "));
        assert.deepEqual(terminal.lines, []);
      });
    }
  });
}

test("a failed command prints the stack trace after the message with TOLLGATE_TRACE, and an object with --json", async () => {
  const terminal = new FakeTerminal();
  const env = { DATABASE_URL: DEAD, KEY_PEPPER: PEPPER, TOLLGATE_TRACE: "1" };
  assert.equal(await runCommandLine(TOLLGATE_COMMANDS, ["migrate", "--json"], { terminal, env }, explainFailure), 1);
  const [line = "", ...places] = terminal.remarks;
  const { error } = JSON.parse(line) as { error: { message: string; next: string } };
  assert.match(error.message, /^cannot connect to the database: nothing listens at 127\.0\.0\.1:1 \(ECONNREFUSED\)$/);
  assert.match(error.next, /DATABASE_URL/);
  assert.ok(places.some((place) => place.startsWith("    at ")));
  assert.ok(!terminal.everything.includes("secret"));
});
