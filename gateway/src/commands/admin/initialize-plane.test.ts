import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { runCommand } from "@tollgate/terminal/run-command-line.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { parseConfig } from "../../config.ts";
import { findNatsServer, skipWithoutNats } from "../../plane/nats/testing-nats-server.ts";
import { TOLLGATE_COMMANDS } from "../tollgate.ts";

const planeInit = (args: string[], terminal = new FakeTerminal()): Promise<number> =>
  runCommand(TOLLGATE_COMMANDS, ["admin", "plane", "init", ...args], { terminal, env: {} });

async function newPlace(t: TestContext): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "tollgate-init-"));
  t.after(() => rm(parent, { recursive: true, force: true }));
  return join(parent, "plane");
}

async function run(args: string[]): Promise<string> {
  const terminal = new FakeTerminal();
  assert.equal(await planeInit(args, terminal), 0);
  return terminal.text;
}

describe("plane init", () => {
  test("writes configuration and secrets, readable by their owner only, and prints the next steps", async (t) => {
    const place = await newPlace(t);
    const said = await run(["--dir", place, "--url", "tls://plane.example:4333"]);
    assert.match(said, /nats-server -c nats-server\.conf\n.*gateway\.env; set \+a; tollgate serve/);
    const modes = new Map<string, number>();
    for (const name of await readdir(place)) modes.set(name, (await stat(join(place, name))).mode & 0o777);
    assert.deepEqual([...modes].sort(), [
      ["administrator.creds", 0o600],
      ["gateway.env", 0o600],
      ["nats-server.conf", 0o644],
      ["operator.seed", 0o600],
    ]);
    const conf = await readFile(join(place, "nats-server.conf"), "utf8");
    assert.match(conf, /^listen: "0\.0\.0\.0:4333"$/m);
    assert.doesNotMatch(conf, /\bS[AOU][A-Z2-7]{56}\b/, "no seed in the file that every server gets");
    const lines = (await readFile(join(place, "gateway.env"), "utf8")).trimEnd().split("\n");
    const { plane } = parseConfig(Object.fromEntries(lines.map((line) => line.split("="))));
    assert.equal(plane.nats?.url, "tls://plane.example:4333");
    const operator = (await readFile(join(place, "operator.seed"), "utf8")).trim();
    assert.notEqual(plane.nats?.operatorSeed, operator, "gateways sign with another key");
  });

  test("prints JSON without secrets", async (t) => {
    const place = await newPlace(t);
    const said = await run(["--dir", place, "--json"]);
    const made = JSON.parse(said) as Record<string, unknown>;
    assert.deepEqual(Object.keys(made), ["dir", "url", "operator", "system_account", "account", "files", "next"]);
    assert.equal(made.url, "nats://127.0.0.1:4222");
    assert.doesNotMatch(said, /\bS[AOU][A-Z2-7]{56}\b/);
  });

  test("writes a configuration that nats-server accepts", { skip: skipWithoutNats }, async (t) => {
    const place = await newPlace(t);
    await run(["--dir", place]);
    const check = spawnSync(findNatsServer() as string, ["-c", "nats-server.conf", "-t"], { cwd: place });
    assert.equal(check.status, 0, String(check.stderr));
  });

  test("writes nothing if one of the files exists", async (t) => {
    const place = await newPlace(t);
    await run(["--dir", place]);
    const before = await readFile(join(place, "gateway.env"), "utf8");
    await assert.rejects(planeInit(["--dir", place]), /operator\.seed exists already/);
    assert.equal(await readFile(join(place, "gateway.env"), "utf8"), before);
    await rm(join(place, "operator.seed"));
    await rm(join(place, "gateway.env"));
    await writeFile(join(place, "nats-server.conf"), "mine");
    await assert.rejects(planeInit(["--dir", place]), /administrator\.creds exists already/);
    await rm(join(place, "administrator.creds"));
    await assert.rejects(planeInit(["--dir", place]), /nats-server\.conf exists already/);
    assert.deepEqual(await readdir(place), ["nats-server.conf"]);
  });

  test("refuses an invalid flag and names the rule", async () => {
    await assert.rejects(planeInit([]), /--dir is missing: the directory to write to/);
    for (const url of ["http://x", "nats://", "x:4222", "nats://a:1/path", "nats://u:p@a:1", "nats://a:1,http://b"]) {
      await assert.rejects(planeInit(["--dir", "/nowhere/x", "--url", url]), /--url must be nats:/, url);
    }
    await assert.rejects(planeInit(["--colour"]), /--colour/);
  });
});
