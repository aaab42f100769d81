/** From nothing to earning with the commands a host types, against a whole platform. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { assertBalanced, builder, host, lastRecord, untilSettled } from "@tollgate/stage/ledger-check.ts";
import { clearOfMidnight } from "@tollgate/stage/periods.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { hostShareOf } from "../gateway/src/base/testing.ts";

const TOLLGATE_HOST = fileURLToPath(new URL("../host/bin/tollgate-host.mjs", import.meta.url));

interface Said {
  code: number | null;
  out: string;
  err: string;
}

describe("a host's command line", () => {
  let dataDir: string;
  let platform: Platform;
  /** Everything any command said. */
  let said = "";
  let serving: ChildProcess | undefined;
  let served = "";

  before(async () => {
    await clearOfMidnight();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node"]);
  });
  after(async () => {
    serving?.kill("SIGKILL");
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const start = (args: string[]): ChildProcess =>
    spawn(process.execPath, [TOLLGATE_HOST, ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, XDG_CONFIG_HOME: join(dataDir, "config"), TOLLGATE_HOST_TOKEN: undefined },
    });

  const run = async (args: string[], input = ""): Promise<Said> => {
    const child = start(args);
    let [out, err] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text) => (out += text));
    child.stderr?.setEncoding("utf8").on("data", (text) => (err += text));
    child.stdin?.end(input);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    said += out + err;
    return { code, out, err };
  };
  const good = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await run(args);
    assert.equal(code, 0, `${args.join(" ")}\n${out}${err}`);
    return out;
  };
  const json = async (...args: string[]) => JSON.parse(await good(...args, "--json"));

  test("login, register, elect: each says what comes next", async () => {
    const early = await run(["status"]);
    assert.deepEqual([early.code, early.err.split("\n")[1]], [1, "  next: tollgate-host login"]);

    const login = await run(["login", "--gateway", platform.ready.base_url, "--token", "-"], platform.ready.host_token);
    assert.equal(login.code, 0, login.err);
    assert.match(login.out, /next: tollgate-host register/);
    const file = join(dataDir, "config", "tollgate", "host.json");
    assert.equal((await stat(file)).mode & 0o777, 0o600);

    assert.match(
      await good("register", "--name", "garage"),
      /^node +node_\w+ \(garage\), registered\n[\s\S]*next: .* elect/,
    );
    const elected = await good("elect", "--engine", "scripted", "--models", "tiny-3b,embed-m3");
    assert.match(elected, /elected tiny-3b, embed-m3 on scripted; the node is ready/);
    const [node] = await platform.query<{ name: string; state: string }>("select name, state from node");
    assert.deepEqual(node, { name: "garage", state: "ready" });
  });

  test("doctor finds nothing wrong", async () => {
    const { ok, checks } = await json("doctor");
    assert.equal(ok, true);
    const names = checks.map(({ name }: { name: string }) => name);
    for (const name of ["gateway", "clock", "token", "node", "plane", "engine", "speed"])
      assert.ok(names.includes(name));
  });

  test("up serves without a flag, and a builder's request earns exactly seven tenths", async () => {
    const child = start(["up"]);
    serving = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text) => {
        served += text;
      });
    await eventually("the node is online", () => /^online /m.test(served));

    const answer = await chat(platform, { text: "one two three" });
    assert.equal(answer.status, 200);
    const { id } = (await answer.json()) as { id: string };
    const { charge_pico, host_pico } = await lastRecord(platform);
    assert.equal(BigInt(host_pico), hostShareOf(BigInt(charge_pico)));

    const earnings = await json("earnings");
    assert.equal(earnings.data.length, 1);
    assert.equal(earnings.data[0].request_id, id.replace("chatcmpl-", "req_"));
    assert.equal(earnings.data[0].earned_micro, micro(BigInt(host_pico)));
    assert.equal(earnings.balance.earned_micro, micro((await host(platform)).balance));
    const [header, row] = (await good("earnings", "--csv")).split("\n");
    assert.match(header ?? "", /^finished_at,request_id/);
    // The platform's builder and its host are one person: the request was the host's own.
    assert.ok(row?.endsWith(`,ok,${micro(BigInt(host_pico))},true`), row);

    const status = await json("status");
    assert.deepEqual([status.state, status.connected, status.today.requests], ["online", true, 1]);
    assert.equal(status.today.earned_micro, micro(BigInt(host_pico)));
    assert.match(await good("status"), /^state +online$/m);
  });

  test("its past, its jobs and the market, the same as the console has them; another name", async () => {
    const { host_pico } = await lastRecord(platform);
    await eventually("the request is counted", async () => (await json("status")).insight.total.requests === 1);
    const { insight, hardware } = await json("status");
    assert.equal(insight.total.earned_micro, micro(BigInt(host_pico)));
    assert.ok(hardware.cores > 0 && Array.isArray(hardware.gpus));
    const text = await good("status", "--range", "7d");
    assert.match(text, /^machine +.*GiB of memory$/m);
    assert.match(text, /^in 7d +use .*\n +1 request, none failed, .*earned \$0\.0\d+$/m);
    assert.match(await good("status", "--all"), /^in the last 24 hours +use .*\ngarage +/m);
    assert.match(await good("earnings", "--range", "24h"), /^hour \(UTC\) +earned\n.* +\$0\.0\d+\n/);

    const [job, ...others] = (await json("jobs")).data;
    assert.deepEqual([job.outcome, job.earned_micro, others], ["ok", micro(BigInt(host_pico)), []]);
    assert.match(await good("jobs", "--outcome", "ok"), /req_\w{26} +tiny-3b .* ok$/m);
    const { data } = await json("market");
    const { elected, speed, slot_hour_micro } = data.find(({ model }: { model: string }) => model === "tiny-3b");
    assert.deepEqual([elected, speed.of, Number(slot_hour_micro) > 0], [true, "node", true]);
    assert.match(await good("market"), /^\* tiny-3b .*\$\d+\.\d/m);

    assert.match(await good("rename", "--name", "garage 2"), /is called garage 2/);
    assert.match(await good("status"), /^node .*\(garage 2\)$/m);
  });

  test("pause keeps requests away, resume lets them in", async () => {
    assert.match(await good("pause"), /is paused/);
    const refused = await chat(platform, { text: "nobody" });
    assert.equal(refused.status, 503);
    assert.equal((await json("status")).state, "paused");
    await good("resume");
    await eventually("requests are served again", async () => (await chat(platform, { text: "back" })).status === 200);
  });

  test("a try goes all the way, and nobody pays or reads of it", async () => {
    const before = [await builder(platform), await host(platform), await lastRecord(platform)];
    const tried = await good("try", "--model", "tiny-3b", "--prompt", '#script {"text":"a private answer"}');
    assert.match(tried, /^a private answer\n\ntiny-3b: .*tokens/);
    const vectors = await json("try", "--model", "embed-m3", "--prompt", "hello");
    assert.deepEqual(vectors.vectors, { count: 1, width: 1024 });
    assert.deepEqual([await builder(platform), await host(platform), await lastRecord(platform)], before);
  });

  test("Ctrl-C lets what runs finish", async () => {
    const stream = await chat(platform, { tokens: 100, delta_ms: 50 }, { stream: true });
    const reader = stream.body?.getReader();
    let text = "";
    const more = async (): Promise<boolean> => {
      const part = await reader?.read();
      text += Buffer.from(part?.value ?? []).toString("utf8");
      return part?.done === false;
    };
    // The opening chunk, which has no content, comes before a node has it.
    while (!/"content":"[^"]/.test(text)) assert.ok(await more(), text);
    const gone = new Promise<number | null>((resolve) => serving?.once("close", resolve));
    serving?.kill("SIGINT");
    while (await more());
    assert.ok(text.trimEnd().endsWith("data: [DONE]"), `the stream came to its own end: ${text.slice(-600)}`);
    assert.equal(await gone, 0);
    assert.match(served, /stopping finishing what runs.*\nstopped\n$/);
    assert.equal((await json("status")).connected, false);
    await untilSettled(platform);
    await assertBalanced(platform);
  });

  test("retire ends the node, and the machine is none any more", async () => {
    const { node: id } = await json("status");
    assert.match(await good("retire", "--yes"), /is retired/);
    const again = await run(["retire", "--yes", "--node", id]);
    assert.equal(again.code, 1);
    assert.match(again.err, /The node is retired, which does not allow this\. \(node_state_conflict\)/);
    assert.match((await run(["pause"])).err, /this machine is no node yet/);
  });

  test("logout forgets; no command ever said the token", async () => {
    assert.match(await good("logout"), /the token still works/);
    assert.equal((await run(["earnings"])).code, 1);
    assert.ok(!`${said}${served}`.includes(platform.ready.host_token));
    assert.ok(!/tht_live_\w{12}_/.test(`${said}${served}`));
  });
});

/** Picodollars as the API writes them: µ with six more digits. */
function micro(pico: bigint): string {
  const digits = String(pico).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
