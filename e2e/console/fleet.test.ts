/** A host and an operator at their browsers, and a real node between them: added by the page's own commands, quarantined, released. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { lastRecord } from "../ledger-check.ts";
import { chat, newDataDir, type Platform, removeDataDir, startPlatform } from "../platform.ts";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser, openSession } from "./browser.ts";

const TOLLGATE_HOST = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));

describe("a host's node", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  const browsers: BrowserSession[] = [];
  let hostPage: Page;
  let operatorPage: Page;
  let token = "";
  let serving: ChildProcess | undefined;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node"], { PROBATION_ANSWERS: "20", HOST_SANCTION: "true" });
    const open = async (who: { email: string; password: string }): Promise<Page> => {
      const browser = await openBrowser({ baseUrl: platform.ready.base_url });
      browsers.push(browser);
      await openSession(browser.page, who);
      return browser.page;
    };
    hostPage = await open(platform.ready.builder);
    operatorPage = await open(platform.ready.operator);
  });
  after(async () => {
    serving?.kill("SIGKILL");
    for (const browser of browsers) await browser.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  /** Runs a line of the page as a shell would, on a machine of its own. The token is given where a person would paste it. */
  const start = (line: string): ChildProcess => {
    const [program, ...args] = line.split(" ");
    assert.equal(program, "tollgate-host");
    return spawn(process.execPath, [TOLLGATE_HOST, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, XDG_CONFIG_HOME: join(dataDir, "config"), TOLLGATE_HOST_TOKEN: token },
    });
  };
  const run = async (line: string): Promise<void> => {
    const child = start(line);
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    }
    assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0, `${line}\n${said}`);
  };
  const step = (title: string) => hostPage.getByRole("listitem").filter({ hasText: title });
  const commandOf = async (title: string): Promise<string> =>
    (await step(title).locator("pre").innerText()).split("\n").at(-1) as string;
  const ticked = (title: string) => step(title).getByText("(done)").waitFor({ state: "attached" });

  test("a host adds a node with the commands that the page shows, and sees each one done", async () => {
    await hostPage.goto("/console/host");
    await hostPage.getByText("No nodes yet").waitFor();
    await hostPage.getByRole("link", { name: "Add a node" }).first().click();
    await hostPage.getByLabel("Name", { exact: true }).fill("barn");
    await hostPage.getByRole("button", { name: "Create token" }).click();
    token = await hostPage.getByTestId("secret").innerText();
    assert.match(token, /^tht_live_\w{12}_\w{43}$/);

    const login = await commandOf("Log in");
    assert.equal(login, `tollgate-host login --gateway ${platform.ready.base_url}`);
    await run(login);
    await ticked("Log in");
    await hostPage.getByLabel("Node name").fill("barn");
    await run(await commandOf("Register the machine"));
    await ticked("Register the machine");
    await hostPage.getByRole("radio", { name: "Demo model" }).click();
    // An engine that answers at once stands in for the demo model.
    await run((await commandOf("Choose models")).replace("--engine demo", "--engine scripted"));
    await ticked("Choose models");
    serving = start(await commandOf("Check and serve"));
    await hostPage.getByText("barn is online").waitFor();
    await hostPage.getByRole("link", { name: "Open barn" }).click();
    await hostPage.getByText("Connected and accepting requests.").waitFor();
    await hostPage.getByText("barn is on probation").waitFor();
    await hostPage.getByText(/until it has answered 20 correctly\. So far: 0/).waitFor();
  });

  test("it serves a request; the earnings show it, with its signed receipt", async () => {
    const answer = await chat(platform, { text: "one two three" });
    assert.equal(answer.status, 200, await answer.clone().text());
    const { id } = (await answer.json()) as { id: string };
    const requestId = id.replace("chatcmpl-", "req_");
    await hostPage.goto("/console/host/earnings");
    const row = hostPage.getByRole("table", { name: "Earnings", exact: true }).getByRole("row").nth(1);
    await row.getByText("barn").waitFor();
    const [download] = await Promise.all([
      hostPage.waitForEvent("download"),
      hostPage.getByRole("button", { name: `Download receipt of ${requestId}` }).click(),
    ]);
    const receipt = JSON.parse(await readFile(await download.path(), "utf8"));
    const { host_pico } = await lastRecord(platform);
    assert.deepEqual([receipt.request_id, receipt.host_share_pico], [requestId, host_pico]);
    await hostPage.getByRole("figure", { name: /Earnings in the last 24 hours/ }).waitFor();
  });

  test("the node's page shows what it did: figures by range, and the job with its times and no more", async () => {
    const failed = await chat(platform, { fail_after: 0 });
    await failed.text();
    await hostPage.goto("/console/host");
    await hostPage.getByRole("button", { name: /^barn/ }).click();
    await hostPage.getByRole("heading", { name: "Activity" }).waitFor();
    const node = hostPage.url().match(/node_\w+/)?.[0] ?? "";
    await eventually("its requests are counted", async () => {
      const [row] = await platform.query<{ requests: string }>(
        "select coalesce(sum(requests), 0)::text as requests from performance where scope = 'node' and grain = 'day'",
      );
      return Number(row?.requests) >= 2;
    });
    // Whoever samples the nodes: one sample is enough to tell how much of it was used.
    await platform.query("select node_sample(null, 1, array(select id from node), array[1], array[1])");
    await hostPage.reload();
    const figures = hostPage.getByLabel("In the last 24 hours");
    await figures.getByText(/Connected \d+ % of the time/).waitFor();
    await hostPage.getByRole("radio", { name: "7d" }).click();
    await hostPage.waitForURL(/range=7d/);
    await hostPage.getByRole("figure", { name: "Utilisation in the last 7 days" }).waitFor();
    const jobs = hostPage.getByRole("table", { name: "Jobs" });
    await jobs.getByText("upstream_failed").filter({ visible: true }).first().waitFor();
    await hostPage.getByLabel("Outcome").selectOption("ok");
    await hostPage.waitForURL(/outcome=ok/);
    await jobs.getByText("upstream_failed").first().waitFor({ state: "detached" });
    await jobs.getByRole("button").first().click();
    const job = hostPage.getByRole("dialog", { name: "Job" });
    await job.getByText("Completed.").waitFor();
    await job.getByText(/req_\w{26}/).waitFor();
    const [paid] = await platform.query<{ dollars: string }>(
      "select trim_scale(host_pico / 1e12)::text as dollars from request where outcome = 'ok'",
    );
    await job.getByText(`$${paid?.dollars}`, { exact: true }).waitFor();
    await hostPage.keyboard.press("Escape");
    await hostPage.goto(`/console/host/market?node=${node}`);
    const market = hostPage.getByRole("table", { name: "Market" });
    await market
      .getByRole("row", { name: /tiny-3b elected/ })
      .getByText(/^\$0\.\d+/)
      .first()
      .waitFor();
    await hostPage.getByText("It is no promise").waitFor();
  });

  test("the host pauses and resumes it", async () => {
    await hostPage.goto("/console/host");
    await hostPage.getByRole("button", { name: /^barn/ }).click();
    await hostPage.getByRole("button", { name: "Pause" }).click();
    await hostPage.getByText("Receives no requests until it is resumed.").waitFor();
    const refused = await chat(platform, { text: "nobody" });
    assert.equal(refused.status, 503);
    await hostPage.getByRole("button", { name: "Resume" }).click();
    await hostPage.getByText("Connected and accepting requests.").waitFor();
    await eventually("it serves", async () => (await chat(platform, { text: "again" })).status === 200);
  });

  test("an operator quarantines it: it stops serving, and its host reads why", async () => {
    await operatorPage.goto("/console/operator/nodes");
    await operatorPage.getByRole("button", { name: /^barn/ }).click();
    await operatorPage.getByRole("button", { name: "Quarantine" }).click();
    const dialog = operatorPage.getByRole("dialog", { name: "Quarantine barn?" });
    await dialog.getByLabel("Reason").fill("odd answers");
    await dialog.getByRole("button", { name: "Quarantine" }).click();
    await operatorPage.getByText("By an operator: odd answers").first().waitFor();
    const refused = await chat(platform, { text: "nobody" });
    assert.equal(refused.status, 503, await refused.text());
    await hostPage.goto("/console/host");
    await hostPage.getByText("barn is quarantined").waitFor();
    await hostPage.getByText("By an operator: odd answers").waitFor();
    await hostPage.getByRole("link", { name: "Open barn" }).click();
    await hostPage.getByText("Contact the platform's operators.").waitFor();
    await hostPage.getByRole("button", { name: "Resume" }).waitFor({ state: "detached" });
  });

  test("meanwhile its host's new node receives no requests, which both read; an operator clears it", async () => {
    const registered = await fetch(`${platform.ready.base_url}/node/v1/nodes`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "shed" }),
    });
    assert.equal(registered.status, 200);
    await hostPage.goto("/console/host");
    await hostPage.getByText("shed receives no requests").waitFor();
    await operatorPage.goto("/console/operator/nodes");
    await operatorPage.getByRole("button", { name: /^shed/ }).click();
    await operatorPage.getByText("It was registered while another node of its host was in quarantine.").waitFor();
    await operatorPage.getByRole("button", { name: "Clear node" }).click();
    await operatorPage.getByText("shed is cleared", { exact: true }).waitFor();
    await operatorPage.getByText("shed receives no requests").waitFor({ state: "detached" });
    await hostPage.getByText("shed receives no requests").waitFor({ state: "detached" });
    await hostPage.getByRole("link", { name: "Open barn" }).click();
    await operatorPage.goto("/console/operator/nodes");
    await operatorPage.getByRole("button", { name: /^barn/ }).click();
  });

  test("released, it is paused; its host resumes it and it serves again", async () => {
    await operatorPage.getByRole("button", { name: "Release" }).click();
    await operatorPage.getByRole("dialog", { name: "Release barn?" }).getByRole("button", { name: "Release" }).click();
    await operatorPage.getByText("Receives no requests until it is resumed.").waitFor();
    await hostPage.getByRole("button", { name: "Resume" }).click();
    await hostPage.getByText("Connected and accepting requests.").waitFor();
    await eventually("it serves", async () => (await chat(platform, { text: "back" })).status === 200);
  });

  test("its host gives it another name, then retires it: what runs is finished, and it never comes back", async () => {
    await hostPage.getByRole("button", { name: "More for barn" }).click();
    await hostPage.getByRole("menuitem", { name: "Rename" }).click();
    const naming = hostPage.getByRole("dialog", { name: "Rename node" });
    await naming.getByLabel("Name").fill("shed");
    await naming.getByRole("button", { name: "Rename" }).click();
    await naming.getByText("Another node of the account has this name.").waitFor();
    await naming.getByLabel("Name").fill("old barn");
    await naming.getByRole("button", { name: "Rename" }).click();
    await hostPage.getByRole("heading", { name: "old barn" }).waitFor();

    const stream = await chat(platform, { tokens: 200, delta_ms: 50 }, { stream: true });
    const reader = stream.body?.getReader();
    let text = "";
    const more = async (): Promise<boolean> => {
      const part = await reader?.read();
      text += Buffer.from(part?.value ?? []).toString("utf8");
      return part?.done === false;
    };
    // Bytes come before a node has it.
    while (!/"content":"[^"]/.test(text)) assert.ok(await more(), text);
    await hostPage.getByRole("button", { name: "More for old barn" }).click();
    await hostPage.getByRole("menuitem", { name: "Retire" }).click();
    await hostPage.getByRole("button", { name: "Retire node" }).click();
    await hostPage.getByText("old barn is retired. Running requests complete.", { exact: true }).waitFor();
    assert.equal((await chat(platform, { text: "nobody" })).status, 503);
    while (await more());
    assert.ok(text.trimEnd().endsWith("data: [DONE]"), "what ran came to its own end");
    const [ran] = await platform.query<{ outcome: string }>(
      "select outcome from request where outcome <> 'no_capacity' order by id desc limit 1",
    );
    assert.equal(ran?.outcome, "ok");
    const id = hostPage.url().match(/node_\w+/)?.[0];
    const refused = await fetch(`${platform.ready.base_url}/node/v1/nodes/${id}/credentials`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    assert.deepEqual([refused.status, /is retired/.test(await refused.text())], [409, true]);
  });

  test("a revoked token no longer logs in", async () => {
    await hostPage.goto("/console/host/tokens");
    await hostPage.getByRole("button", { name: "Revoke barn" }).click();
    await hostPage.getByRole("button", { name: "Revoke token" }).click();
    await hostPage.getByText("Revoked (1)").waitFor();
    await eventually("the token is refused", async () => {
      const child = start(`tollgate-host login --gateway ${platform.ready.base_url}`);
      return (await new Promise((resolve) => child.once("close", resolve))) === 1;
    });
  });

  test("no page complained", () => {
    // The browser itself remarks on the name that was taken.
    const said = browsers.flatMap((browser) => browser.complaints()).filter((each) => !/status of 409/.test(each));
    assert.deepEqual(said, []);
  });
});
