/**
 * Tests `tollgate login` from the user's side: the command in a terminal, the code in a browser, and the session in
 * both.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser } from "./console-browser.ts";
import { checkVisuals } from "./visual/page-checks.ts";

const COMMAND = join(import.meta.dirname, "../../gateway/bin/tollgate.mjs");
const WHO = { email: "grace@example.com", password: "a long enough password" };

describe("tollgate login", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let configDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    configDir = await mkdtemp(join(tmpdir(), "tollgate-config-"));
    platform = await startPlatform(dataDir, ["--no-node", "--port", String(await findFreePort())]);
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    page = browser.page;
    const signedUp = await page.request.post("/console/api/auth/sign-up/email", {
      data: { ...WHO, name: "Grace" },
      headers: { "sec-fetch-site": "same-origin" },
    });
    assert.equal(signedUp.status(), 200, await signedUp.text());
    await browser.context.clearCookies();
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
    await rm(configDir, { recursive: true, force: true });
  });

  /** Starts the command and collects its messages. The first one has the URL to open. */
  function tollgate(...args: string[]) {
    const env = { ...process.env, XDG_CONFIG_HOME: configDir, NO_COLOR: "1" };
    const child = spawn(process.execPath, [COMMAND, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = Promise.all([once(child, "exit"), text(child.stdout)]);
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (more: string) => {
      said += more;
    });
    const told = () =>
      eventually("the command shows where to confirm", () => {
        const [, address = "", code = ""] = /Open (\S+)\nand confirm the code (\S+)/.exec(said) ?? [];
        return code !== "" && { address, code };
      });
    const result = async () => {
      const [[code], out] = await ended;
      return { code, out };
    };
    return { told, result };
  }

  test("a visitor without a session signs in first, and then returns to the confirmation of the code", async () => {
    const login = tollgate("login", "--gateway", platform.ready.gateway_url);
    const { address, code } = await login.told();
    await page.goto(address);
    await page.getByLabel("Email").fill(WHO.email);
    await page.getByLabel("Password", { exact: true }).fill(WHO.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Give a script access?" }).waitFor();
    await page.getByText(code, { exact: true }).waitFor();
    await page.getByText(/^tollgate on /).waitFor();
    await checkVisuals(browser, "a script's login");
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("heading", { name: "The script is logged in" }).waitFor();
    await checkVisuals(browser, "a script that is logged in");
    const { code: exit, out } = await login.result();
    assert.equal(exit, 0);
    assert.match(out, /^logged in to http:\S+ as grace@example\.com; it can only read, until /);
    const me = await tollgate("api", "GET", "me", "--json").result();
    assert.equal(JSON.parse(me.out).identity.email, WHO.email);
  });

  test("the settings page lists the command's session, and ending the session there logs the command out", async () => {
    await page.goto("/console/settings");
    await page.getByText("script, read-only").waitFor();
    await checkVisuals(browser, "the settings with a script's session");
    await page.getByRole("button", { name: /^Sign out tollgate on / }).click();
    await page.getByText("script, read-only").waitFor({ state: "detached" });
    assert.equal((await tollgate("api", "GET", "me").result()).code, 1);
  });

  test("a refused login ends the command with an error, and an unknown code is reported as not found", async () => {
    const login = tollgate("login", "--gateway", platform.ready.gateway_url, "--write");
    const { code } = await login.told();
    await page.goto("/console/authorize");
    await page.getByLabel("Code").fill(code.toLowerCase());
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("and change what your roles allow").waitFor();
    await page.getByRole("button", { name: "Refuse" }).click();
    await page.getByRole("heading", { name: "The login was refused" }).waitFor();
    assert.equal((await login.result()).code, 1);
    await page.goto(`/console/authorize?code=${code}`);
    await page.getByRole("heading", { name: "This code does not work" }).waitFor();
    // Chromium logs the 404 itself.
    assert.match(browser.complaints().join("\n"), /^error: [^\n]* 404 \(Not Found\)$/);
    await checkVisuals(browser, "a code that does not work");
  });
});
