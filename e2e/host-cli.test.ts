/**
 * Runs the host's commands from an empty machine to the first earnings, on a whole platform. host/src/cli.test.ts tests
 * them as processes.
 */

import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { BuilderAccount, HostAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage, waitForFirstOutput } from "@tollgate/stage/builder-requests.ts";
import { assertBalanced, readLastRecord } from "@tollgate/stage/ledger-check.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { waitPastMidnight } from "@tollgate/stage/within-one-minute-or-day.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { computeHostShare } from "../gateway/src/base/testing.ts";
import { runTollgateHost as runCommand } from "../host/src/cli.ts";
import { openLoginFile } from "../host/src/command/login-file.ts";

interface Said {
  code: number;
  out: string;
  err: string;
}

const textOf = (lines: string[]): string => lines.map((line) => `${line}\n`).join("");

describe("the commands of tollgate-host", () => {
  let stage: InProcessStage;
  let builder: BuilderAccount;
  let host: HostAccount;
  /** The terminals of all commands that were run. */
  const terminals: FakeTerminal[] = [];
  const ctrlC = Promise.withResolvers<void>();
  /** The running `tollgate-host up`, and its output below. */
  let serving: Promise<number> = Promise.resolve(0);
  const upTerminal = new FakeTerminal();
  const served = (): string => textOf(upTerminal.lines);

  before(async () => {
    await waitPastMidnight();
    stage = await openStage({ as: "in-process", clock: "running" });
    [builder, host] = [await stage.builder(), await stage.host()];
  });
  after(async () => {
    ctrlC.resolve();
    await serving;
    await stage?.close();
  });

  const start = (args: string[], terminal: FakeTerminal): Promise<number> => {
    terminals.push(terminal);
    return runCommand(args, {
      env: {},
      terminal,
      clock: stage.clock,
      logins: openLoginFile(join(stage.folder, "tollgate")),
      supervisor: () => ({
        hasParent: false,
        stopRequested: ctrlC.promise,
        hurry: new AbortController().signal,
        tell: async () => {},
      }),
    });
  };
  const run = async (args: string[], input = ""): Promise<Said> => {
    const terminal = new FakeTerminal({ input });
    const code = await start(args, terminal);
    return { code, out: textOf(terminal.lines), err: textOf(terminal.remarks) };
  };
  const good = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await run(args);
    assert.equal(code, 0, `${args.join(" ")}\n${out}${err}`);
    return out;
  };
  const json = async (...args: string[]) => JSON.parse(await good(...args, "--json"));
  const chat = (orders: object, more: object = {}): Promise<Response> =>
    sendUserMessage(stage, builder.key, { model: "tiny-3b", prompt: makeScriptPrompt(orders), ...more });
  const balances = (): Promise<bigint[]> => Promise.all([builder, host].map(({ account }) => stage.balance(account)));

  test("login, register and elect (choose models) each print the next step", async () => {
    const early = await run(["status"]);
    assert.deepEqual([early.code, early.err], [1, "error: this machine is not logged in. Next: tollgate-host login\n"]);

    const login = await run(["login", "--gateway", stage.baseUrl, "--token", "-"], host.token);
    assert.equal(login.code, 0, login.err);
    assert.match(login.out, /next: tollgate-host register/);
    const file = join(stage.folder, "tollgate", "host.json");
    assert.equal((await stat(file)).mode & 0o777, 0o600);

    assert.match(
      await good("register", "--name", "garage"),
      /^node +node_\w+ \(garage\), registered\n[\s\S]*next: .* elect/,
    );
    const elected = await good("elect", "--engine", "scripted", "--models", "tiny-3b,embed-m3");
    assert.match(elected, /this node now offers tiny-3b, embed-m3, served by scripted; the node's state is ready/);
    const [node] = await stage.query<{ name: string; state: string }>("select name, state from node");
    assert.deepEqual(node, { name: "garage", state: "ready" });
  });

  test("doctor reports no problem for a healthy node", async () => {
    const { ok, checks } = await json("doctor");
    assert.equal(ok, true);
    const names = checks.map(({ name }: { name: string }) => name);
    for (const name of ["gateway", "clock", "token", "node", "plane", "engine", "speed"])
      assert.ok(names.includes(name));
  });

  test("up serves without flags, and a builder's request earns the host exactly 70 %", async () => {
    serving = start(["up"], upTerminal);
    await eventually("the node is online", () => /^online /m.test(served()));

    const answer = await chat({ text: "one two three" });
    assert.equal(answer.status, 200);
    const { id } = (await answer.json()) as { id: string };
    const { charge_pico, host_pico } = await readLastRecord(stage);
    assert.equal(BigInt(host_pico), computeHostShare(BigInt(charge_pico)));

    const earnings = await json("earnings");
    assert.equal(earnings.data.length, 1);
    assert.equal(earnings.data[0].request_id, id.replace("chatcmpl-", "req_"));
    assert.equal(earnings.data[0].earned_micro, micro(BigInt(host_pico)));
    assert.equal(earnings.balance.earned_micro, micro(await stage.balance(host.account)));
    const [header, row] = (await good("earnings", "--csv")).split("\n");
    assert.match(header ?? "", /^finished_at,request_id/);
    assert.ok(row?.endsWith(`,ok,${micro(BigInt(host_pico))},false`), row);

    const status = await json("status");
    assert.deepEqual([status.state, status.connected, status.today.requests], ["online", true, 1]);
    assert.equal(status.today.earned_micro, micro(BigInt(host_pico)));
    assert.match(await good("status"), /^state +online$/m);
  });

  test("status, earnings, jobs and market show the node's activity, and rename changes its name", async () => {
    const { host_pico } = await readLastRecord(stage);
    await eventually("the request is counted", async () => (await json("status")).insight.total.requests === 1);
    const { insight, hardware } = await json("status");
    assert.equal(insight.total.earned_micro, micro(BigInt(host_pico)));
    assert.ok(hardware.cores > 0 && Array.isArray(hardware.gpus));
    const text = await good("status", "--range", "7d");
    assert.match(text, /^machine +.*GiB of memory$/m);
    assert.match(text, /^in 7d +slots in use .*\n +1 request, none failed, .*earned \$0\.0\d+$/m);
    assert.match(await good("status", "--all"), /^in the last 24 hours +use .*\ngarage +/m);
    assert.match(await good("earnings", "--range", "24h"), /^hour \(UTC\) +earned\n.* +\$0\.0\d+\n/);

    const [job, ...others] = (await json("jobs")).data;
    assert.deepEqual([job.outcome, job.earned_micro, others], ["ok", micro(BigInt(host_pico)), []]);
    assert.match(await good("jobs", "--outcome", "ok"), /req_\w{26} +tiny-3b .* ok$/m);
    const { data } = await json("market");
    const { elected, speed, slot_hour_micro } = data.find(({ model }: { model: string }) => model === "tiny-3b");
    assert.deepEqual([elected, speed.of, Number(slot_hour_micro) > 0], [true, "node", true]);
    assert.match(await good("market"), /^\* tiny-3b .*\$\d+\.\d/m);

    assert.match(await good("rename", "--name", "garage 2"), /is now named garage 2/);
    assert.match(await good("status"), /^node .*\(garage 2\)$/m);
  });

  test("pause stops new requests, and resume accepts them again", async () => {
    assert.match(await good("pause"), /is paused/);
    const refused = await chat({ text: "nobody" });
    assert.equal(refused.status, 503);
    assert.equal((await json("status")).state, "paused");
    await good("resume");
    await eventually("requests are served again", async () => (await chat({ text: "back" })).status === 200);
  });

  test("try sends a request to the host's own node, neither billed nor recorded", async () => {
    const before = [await balances(), await readLastRecord(stage)];
    const tried = await good("try", "--model", "tiny-3b", "--prompt", '#script {"text":"a private answer"}');
    assert.match(tried, /^a private answer\n\ntiny-3b: .*tokens/);
    const vectors = await json("try", "--model", "embed-m3", "--prompt", "hello");
    assert.deepEqual(vectors.vectors, { count: 1, width: 1024 });
    assert.deepEqual([await balances(), await readLastRecord(stage)], before);
  });

  test("up finishes its running request before it stops", async () => {
    const rest = await waitForFirstOutput(await chat({ tokens: 30, delta_ms: 50 }, { stream: true }));
    ctrlC.resolve();
    const text = await rest();
    assert.ok(text.trimEnd().endsWith("data: [DONE]"), `the stream came to its own end: ${text.slice(-600)}`);
    assert.equal(await serving, 0);
    assert.match(served(), /stopping when the requests in flight have ended.*\nstopped\n$/);
    assert.equal((await json("status")).connected, false);
    await stage.noHolds();
    await assertBalanced(stage);
  });

  test("retire removes the node, and later commands find no node on this machine", async () => {
    const { node: id } = await json("status");
    assert.match(await good("retire", "--yes"), /is retired/);
    const again = await run(["retire", "--yes", "--node", id]);
    assert.equal(again.code, 1);
    assert.match(again.err, /This action is not possible while the node is retired \(node_state_conflict\)/);
    assert.match((await run(["pause"])).err, /this machine is not a node yet/);
  });

  test("logout deletes the token, and no command has printed it", async () => {
    assert.match(await good("logout"), /the token is still valid/);
    assert.equal((await run(["earnings"])).code, 1);
    const said = terminals.map(({ everything }) => everything).join("\n");
    assert.ok(!said.includes(host.token));
    assert.ok(!/tht_live_\w{12}_/.test(said));
  });
});

/** Formats picodollars as the API does: in microdollars with six decimals. */
function micro(pico: bigint): string {
  const digits = String(pico).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
