import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "./command.ts";
import { renderSystemdUnit, serviceCommands } from "./systemd-service.ts";
import { commandHarness, makeLoggedInHarness, temporaryDirectory } from "./testing/command-harness.ts";
import { fakeMachine } from "./testing/fake-machine.ts";

const service = {
  install: serviceCommands["service install"] as Command,
  uninstall: serviceCommands["service uninstall"] as Command,
  print: serviceCommands["service print"] as Command,
};
const SYSTEMD = "/run/systemd/system";
const done = { code: 0, output: "", errors: "" };

test("tollgate-host service print works on every platform and shows the path for the unit file", async (t) => {
  const { run, terminal } = await commandHarness(t, { context: { machine: fakeMachine({ platform: "darwin" }) } });
  assert.equal(await run(service.print), 0);
  assert.match(
    terminal.text,
    /^ExecStart="\/opt\/node\/bin\/node" "\/opt\/tollgate\/host\/bin\/tollgate-host.mjs" up$/m,
  );
  assert.deepEqual(terminal.remarks, ["save this as /home/ada/.config/systemd/user/tollgate-host.service"]);
  assert.ok(!terminal.text.includes("User="));
});

test("a system service runs as the user who called sudo, with restricted rights", async (t) => {
  const machine = fakeMachine({ isRoot: true, user: "root" });
  const { run, terminal, fails, context } = await commandHarness(t, {
    context: { machine, env: { SUDO_USER: "ada" } },
  });
  assert.equal(await run(service.print, "--system", "--json"), 0);
  const { path, unit } = terminal.json<{ path: string; unit: string }>();
  assert.equal(path, "/etc/systemd/system/tollgate-host.service");
  for (const line of ["User=ada", "CapabilityBoundingSet=", "NoNewPrivileges=yes", "ProtectSystem=strict"])
    assert.ok(unit.split("\n").includes(line), line);
  context.env = {};
  assert.match((await fails(service.print, "--system")).message, /--user is missing/);
});

test("paths in the systemd unit are quoted by systemd's rules", () => {
  const program = { node: '/opt/a b/no"de', file: "/x/100%/$HOME" };
  const unit = renderSystemdUnit({ scope: "user", program, user: undefined, configHome: "/c $d" });
  assert.match(unit, /^ExecStart="\/opt\/a b\/no\\"de" "\/x\/100%%\/\$\$HOME" up$/m);
  assert.match(unit, /^Environment="XDG_CONFIG_HOME=\/c \$d"$/m);
});

test("tollgate-host service install writes and starts the unit, and uninstall removes it", async (t) => {
  const home = await temporaryDirectory(t);
  const path = join(home, ".config/systemd/user/tollgate-host.service");
  const machine = fakeMachine({ home, programs: { systemctl: done, loginctl: "Linger=no\n" } });
  machine.exists = (asked) => asked === SYSTEMD || existsSync(asked);
  const serving = { engine: "demo" as const, models: ["tiny-3b"] };
  const { run, terminal } = await makeLoggedInHarness(t, { context: { machine }, login: { serving } });
  assert.equal(await run(service.install), 0);
  assert.match(await readFile(path, "utf8"), /^\[Unit\]/);
  assert.deepEqual(machine.ran.slice(0, 3), [
    "systemctl --user daemon-reload",
    "systemctl --user enable tollgate-host.service",
    "systemctl --user restart tollgate-host.service",
  ]);
  assert.match(
    terminal.text,
    /installed .*\n.*journalctl --user.*\nthe service stops when you log out.*enable-linger ada$/,
  );
  assert.equal(await run(service.uninstall), 0);
  assert.equal(existsSync(path), false);
  assert.ok(machine.ran.includes("systemctl --user disable --now tollgate-host.service"));
  assert.equal(await run(service.uninstall, "--json"), 0);
  assert.deepEqual(JSON.parse(terminal.lines.at(-1) ?? ""), { path, removed: false });
});

test("tollgate-host service install explains why it cannot install and what to do", async (t) => {
  const none = await makeLoggedInHarness(t);
  assert.deepEqual((await none.fails(service.install)).message, "this machine does not run systemd");
  assert.deepEqual((await none.fails(service.uninstall)).exitCode, 1);

  const machine = fakeMachine({ paths: [SYSTEMD], home: await temporaryDirectory(t) });
  const early = await makeLoggedInHarness(t, { context: { machine } });
  assert.match((await early.fails(service.install)).message, /no models are chosen/);
  assert.match((await early.fails(service.install, "--system")).next ?? "", /sudo/);

  const broken = { code: 1, output: "", errors: "Failed to connect to bus: No medium found\n" };
  const noBus = fakeMachine({ paths: [SYSTEMD], home: await temporaryDirectory(t), programs: { systemctl: broken } });
  const serving = { engine: "demo" as const, models: ["tiny-3b"] };
  const { fails } = await makeLoggedInHarness(t, { context: { machine: noBus }, login: { serving } });
  assert.match((await fails(service.install)).message, /daemon-reload: Failed to connect to bus/);
});

test("service install --system fails if its user does not exist or has not logged in to a gateway", async (t) => {
  const options = { isRoot: true, paths: [SYSTEMD] };
  const passwd = "ada:x:1000:1000::/home/ada:/bin/sh\n";
  const known = fakeMachine({ ...options, programs: { getent: passwd } });
  const { fails } = await commandHarness(t, { context: { machine: known } });
  const line = "ada has not logged in: there is no /home/ada/.config/tollgate/host.json";
  assert.deepEqual((await fails(service.install, "--system", "--user", "ada")).message, line);
  const unknown = fakeMachine({ ...options, programs: { getent: { code: 2, output: "", errors: "" } } });
  const other = await commandHarness(t, { context: { machine: unknown } });
  assert.deepEqual((await other.fails(service.install, "--system", "--user", "bob")).message, "there is no user bob");
});

test("tollgate-host service exits with code 2 if its arguments are invalid", async (t) => {
  const { fails } = await commandHarness(t);
  for (const args of [["now"], ["--user", "ada"], ["--system", "--user", "a b"]])
    assert.equal((await fails(service.print, ...args)).exitCode, 2, args.join(" "));
});
