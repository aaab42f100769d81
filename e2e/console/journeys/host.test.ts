/**
 * A host's journey in the browser with a real node: the node is added with the commands on the page, earns, is paused
 * and is retired.
 */

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { eventually, failIfHung } from "@tollgate/stage/wait.ts";
import type { Locator, Page } from "playwright-core";
import {
  type BrowserSession,
  buildConsole,
  countClicks,
  NEEDS_CHROMIUM,
  openBrowser,
  triggerReload,
} from "../console-browser.ts";
import { runHostCommand, startHostCommand } from "../run-shown-commands.ts";

describe("a host's journey", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let token = "";
  let serving: ChildProcess | undefined;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--no-node"], { PROBATION_ANSWERS: "20" });
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url, still: true });
    page = browser.page;
    await page.clock.install();
  });
  after(async () => {
    serving?.kill("SIGKILL");
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const step = (title: string): Locator => page.getByRole("listitem").filter({ hasText: title });
  const commandOf = async (title: string): Promise<string> =>
    (await step(title).locator("pre").innerText()).split("\n").at(-1) as string;
  /** Runs a step's command exactly as shown, and waits until the page shows the step as done. */
  const runStep = async (title: string, command: string): Promise<void> => {
    const { code, said } = await runHostCommand(platform, command, token);
    assert.equal(code, 0, `${command}\n${said}`);
    await triggerReload(page);
    await step(title).getByText("(done)").waitFor({ state: "attached" });
  };
  /** Reads the output continuously, because a full pipe would block the program. */
  const untilPrinted = (child: ChildProcess, words: string): Promise<void> =>
    failIfHung(
      `it prints "${words}"`,
      new Promise((resolve, reject) => {
        let said = "";
        child.once("exit", (code) => reject(new Error(`ended with ${code}: ${said}`)));
        for (const stream of [child.stdout, child.stderr]) {
          stream?.setEncoding("utf8").on("data", (text: string) => {
            said += text;
            if (said.includes(words)) resolve();
          });
        }
      }),
    );
  const nodeApi = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${platform.ready.gateway_url}/node/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const openNode = async (): Promise<void> => {
    await page.getByRole("link", { name: "Nodes", exact: true }).click();
    await page.getByRole("button", { name: /^barn/ }).click();
  };

  test("a host signs up and adds a node with the commands on the page within 8 clicks, and sees each step marked as done", async (t) => {
    const { clicks } = await countClicks(page);
    await page.goto("/console/");
    await page.getByRole("link", { name: "Create account" }).click();
    await page.getByLabel("Your name").fill("Henry");
    await page.getByLabel("Email").fill("henry@example.com");
    await page.getByLabel("Password", { exact: true }).fill("a long enough password");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("radio", { name: /^Host/ }).click();
    await page.getByRole("button", { name: "Create host account" }).click();
    await page.getByText("No nodes yet").waitFor();
    await page.getByRole("link", { name: "Add a node" }).first().click();
    await page.getByLabel("Name", { exact: true }).fill("barn");
    await page.getByRole("button", { name: "Create token" }).click();
    token = await page.getByTestId("secret").innerText();
    assert.match(token, /^tht_live_\w{12}_\w{43}$/);

    const login = await commandOf("Log in");
    assert.equal(login, `tollgate-host login --gateway ${platform.ready.gateway_url}`);
    await runStep("Log in", login);
    await page.getByLabel("Node name").fill("barn");
    await runStep("Register the machine", await commandOf("Register the machine"));
    await page.getByRole("radio", { name: "Demo model" }).click();
    // Uses the scripted engine, which answers immediately, instead of the demo model.
    await runStep("Choose models", (await commandOf("Choose models")).replace("--engine demo", "--engine scripted"));
    serving = startHostCommand(platform, await commandOf("Check and serve"), token);
    await untilPrinted(serving, "online ");
    await triggerReload(page);
    await page.getByText("barn is online").waitFor();
    assert.ok(clicks() > 0 && clicks() <= 8, `${clicks()} clicks from signing up to a node that serves`);
    t.diagnostic(`${clicks()} clicks from signing up to a node that serves`);
    await page.getByRole("link", { name: "Open barn" }).click();
    await page.getByText("Connected and accepting requests.").waitFor();
    await page.getByText("barn is on probation").waitFor();
    await page.getByText(/until it has answered 20 correctly\. So far: 0/).waitFor();
  });

  test("the earnings page shows a served request with its signed receipt", async () => {
    const answer = await sendScriptedChat(platform, { text: "one two three" });
    assert.equal(answer.status, 200, await answer.clone().text());
    const { id } = (await answer.json()) as { id: string };
    const requestId = id.replace("chatcmpl-", "req_");
    const { host_pico } = await eventually("the request is on record", async () => {
      const [record] = await platform.query<{ host_pico: string }>("select host_pico from request");
      return record;
    });
    await page.getByRole("link", { name: "Earnings", exact: true }).click();
    const row = page.getByRole("table", { name: "Earnings", exact: true }).getByRole("row").nth(1);
    await row.getByText("barn").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Download receipt for ${requestId}` }).click(),
    ]);
    const receipt = JSON.parse(await readFile(await download.path(), "utf8"));
    assert.deepEqual([receipt.request_id, receipt.host_share_pico], [requestId, host_pico]);
    await page.getByRole("figure", { name: /Earnings in the last 24 hours/ }).waitFor();
  });

  test("a host enters a payout method, sees the error for a mistyped number, and then sees the saved number masked", async () => {
    await page.getByRole("link", { name: "Payouts", exact: true }).click();
    await page.getByText("No payouts yet").waitFor();
    await page.getByRole("button", { name: "Enter payout method" }).click();
    const dialog = page.getByRole("dialog", { name: "Payout method" });
    await dialog.getByLabel("Name on the account").fill("Henry Host");
    await dialog.getByLabel("IBAN", { exact: true }).fill("DE89 3704 0044 0532 0130 01");
    await dialog.getByRole("button", { name: "Save payout method" }).click();
    await dialog
      .getByText(/must be an IBAN such as .* with valid check digits/)
      .first()
      .waitFor();
    await dialog.getByLabel("IBAN", { exact: true }).fill("DE89 3704 0044 0532 0130 00");
    await dialog.getByRole("button", { name: "Save payout method" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("IBAN DE… 3000").waitFor();
    assert.doesNotMatch(await page.content(), /37040044|3704 0044/);
    const [kept] = await platform.query<{ number: string }>("select number from payout_method");
    assert.equal(kept?.number, "DE89370400440532013000");
  });

  test("a paused node serves no requests until its host resumes it", async () => {
    await openNode();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("The node receives no requests until its host resumes it.").waitFor();
    const refused = await sendScriptedChat(platform, { text: "nobody" });
    assert.equal(refused.status, 503);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("Connected and accepting requests.").waitFor();
    await eventually("it serves", async () => (await sendScriptedChat(platform, { text: "again" })).status === 200);
  });

  test("a host renames a node, and is refused a name that is taken", async () => {
    const taken = await nodeApi("POST", "nodes", { name: "shed" });
    assert.equal(taken.status, 200, await taken.text());
    await page.getByRole("button", { name: "Actions for barn" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    const naming = page.getByRole("dialog", { name: "Rename node" });
    await naming.getByLabel("Name").fill("shed");
    await naming.getByRole("button", { name: "Rename" }).click();
    await naming.getByText("Another node of this account already has this name.").waitFor();
    await naming.getByLabel("Name").fill("old barn");
    await naming.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { name: "old barn" }).waitFor();
  });

  test("a retired node finishes its running request and gets no more requests", async () => {
    // Opens the confirmation first, so that the request is still running at the last click.
    await page.getByRole("button", { name: "Actions for old barn" }).click();
    await page.getByRole("menuitem", { name: "Retire" }).click();
    const confirm = page.getByRole("button", { name: "Retire node" });
    await confirm.waitFor();
    const stream = await sendScriptedChat(platform, { tokens: 100, delta_ms: 50 }, { stream: true });
    const reader = stream.body?.getReader();
    let text = "";
    const more = async (): Promise<boolean> => {
      const part = await reader?.read();
      text += Buffer.from(part?.value ?? []).toString("utf8");
      return part?.done === false;
    };
    // The gateway sends the first bytes before a node has the request, so this waits for text.
    while (!/"content":"[^"]/.test(text)) assert.ok(await more(), text);
    await confirm.click();
    await page.getByText("old barn is retired. Running requests complete.", { exact: true }).waitFor();
    assert.equal((await sendScriptedChat(platform, { text: "nobody" })).status, 503);
    while (await more());
    assert.ok(text.trimEnd().endsWith("data: [DONE]"), "the running request came to its own end");
    const [ran] = await platform.query<{ outcome: string }>(
      "select outcome from request where outcome <> 'no_capacity' order by id desc limit 1",
    );
    assert.equal(ran?.outcome, "ok");
    const id = page.url().match(/node_\w+/)?.[0];
    const refused = await nodeApi("POST", `nodes/${id}/credentials`);
    assert.deepEqual([refused.status, /is retired/.test(await refused.text())], [409, true]);
  });

  test("no page logs an error or requests anything from another origin", () => {
    // The browser logs the refused payout method (400) and the refused name (409) itself.
    const said = browser.complaints().filter((each) => !/status of (400|409)/.test(each));
    assert.deepEqual(said, []);
  });
});
