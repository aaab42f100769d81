/**
 * Tests every way to sign in to the console, on a platform that sends email and has an OpenID provider; emails and
 * codes are real.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import type { Page } from "playwright-core";
import { computeAuthenticatorCode } from "../../gateway/src/accounts/testing/authenticator-codes.ts";
import { openTestMailbox, type TestMailbox } from "../../gateway/src/accounts/testing/mail-server.ts";
import { openTestOpenIdProvider, type TestOpenIdProvider } from "../../gateway/src/accounts/testing/openid-provider.ts";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser } from "./console-browser.ts";
import { checkVisuals, runAxe } from "./visual/page-checks.ts";

const EMAIL = "grace@example.com";
const [FIRST, SECOND] = ["a long enough password", "another long password"];

describe("sign-in to the console", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let mailbox: TestMailbox;
  let issuer: TestOpenIdProvider;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    mailbox = await openTestMailbox();
    issuer = await openTestOpenIdProvider();
    const port = await findFreePort();
    const { issuer: issuedBy, clientId, clientSecret } = issuer.provider;
    const provider = { id: "acme", name: "Acme", issuer: issuedBy, client_id: clientId, client_secret: clientSecret };
    platform = await startPlatform(dataDir, ["--no-node", "--port", String(port)], {
      // Links in emails lead to this address.
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      SMTP_URL: mailbox.url,
      MAIL_FROM: "Tollgate <no-reply@example.com>",
      OIDC_PROVIDERS: JSON.stringify([provider]),
    });
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    page = browser.page;
  });
  // Deletes the counted sign-in attempts, because the tests sign in from one IP address more often than the limit per
  // minute allows.
  beforeEach(() => platform.query("delete from identity_attempt"));
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await mailbox?.close();
    await issuer?.close();
    await removeDataDir(dataDir);
  });

  const linkOfNextLetter = async (email = EMAIL): Promise<string> => {
    const { text, to } = await mailbox.next();
    assert.deepEqual(to, [email]);
    return /http:\S+#token=\S+/.exec(text)?.[0] ?? assert.fail(`the letter has no link:\n${text}`);
  };
  const enter = async (password: string): Promise<void> => {
    await page.goto("/console/sign-in");
    await page.getByLabel("Email").fill(EMAIL);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  };
  const leave = async (): Promise<void> => {
    await page.getByRole("button", { name: /Accounts and settings/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  };
  /** The browser itself logs every refusal; other messages are errors of the console. */
  const complaints = (): string[] => browser.complaints().filter((said) => !/status of 40[013]/.test(said));

  test("a new user signs up and confirms the email address with the link in an email", async () => {
    await page.goto("/console/sign-up");
    await page.getByLabel("Your name").fill("Grace");
    await page.getByLabel("Email").fill(EMAIL);
    await page.getByLabel("Password", { exact: true }).fill(FIRST);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("We sent an email").waitFor();
    const link = await linkOfNextLetter();

    await enter(FIRST);
    await page.getByRole("alert").getByText("Your email address is not confirmed").waitFor();
    await page.getByRole("button", { name: "Resend email" }).click();
    await linkOfNextLetter();

    await page.goto(link);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await enter(FIRST);
    await page.getByRole("heading", { name: "Choose an account type" }).waitFor();
    assert.deepEqual(complaints(), []);
  });

  test("a person who forgot the password sets a new one through an emailed link, which works only once", async () => {
    await leave();
    await page.getByRole("link", { name: "Forgot password?" }).click();
    await page.getByRole("heading", { name: "Reset password" }).waitFor();
    await page.getByLabel("Email").fill(EMAIL);
    await page.getByRole("button", { name: "Send link" }).click();
    await page.getByRole("status").getByText(EMAIL).waitFor();
    const link = await linkOfNextLetter();
    const set = async (): Promise<void> => {
      await page.goto("/console/sign-in");
      await page.goto(link);
      await page.getByLabel("New password").fill(SECOND);
      await page.getByRole("button", { name: "Set password" }).click();
    };
    await set();
    await page.getByRole("heading", { name: "Your password is set" }).waitFor();
    await set();
    await page.getByRole("alert").getByText('"token" must be an unused token from an email').waitFor();
    await enter(FIRST);
    await page.getByRole("alert").getByText("wrong").waitFor();
    await enter(SECOND);
    await page.getByRole("heading", { name: "Choose an account type" }).waitFor();
    assert.deepEqual(complaints(), []);
  });

  test("a second factor can be set up, is then required, and can be turned off", async () => {
    await page.goto("/console/settings");
    await page.getByRole("button", { name: "Set up" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Your password").fill(SECOND);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByLabel("Code").waitFor();
    assert.deepEqual(await runAxe(page), []);
    const secret = await dialog.locator("code").innerText();
    await dialog.getByLabel("Code").fill(computeAuthenticatorCode(secret));
    await dialog.getByRole("button", { name: "Turn on" }).click();
    await dialog.getByText("Each code works once").waitFor();
    const backup = (await dialog.locator("pre").innerText()).split("\n")[0] as string;
    await page.keyboard.press("Escape");
    const warning = page.getByRole("dialog", { name: "Leave without copying the backup codes?" });
    await warning.getByRole("button", { name: "Cancel" }).click();
    await dialog.getByRole("button", { name: "I saved the codes" }).click();
    await page.getByText("Two-factor authentication is on").first().waitFor();

    await leave();
    await enter(SECOND);
    await page.getByRole("heading", { name: "Enter your code" }).waitFor();
    await page.getByLabel("Code").fill("000000");
    await page.keyboard.press("Enter");
    await page.getByLabel("Code").and(page.locator("[aria-invalid=true]")).waitFor();
    // Uses the next code, 30 s ahead, because the setup used up the current code.
    await page.getByLabel("Code").fill(computeAuthenticatorCode(secret, 1));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Choose an account type" }).waitFor();

    await leave();
    await enter(SECOND);
    await page.getByLabel("Code").fill(backup);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Choose an account type" }).waitFor();

    await page.goto("/console/settings");
    await page.getByRole("button", { name: "Turn off" }).click();
    await dialog.getByLabel("Your password").fill(SECOND);
    await dialog.getByRole("button", { name: "Turn off" }).click();
    await page.getByRole("button", { name: "Set up" }).waitFor();
    assert.deepEqual(complaints(), []);
  });

  test("a user signs in with the OpenID provider, and sees the reason if the provider or the gateway refuses the sign-in", async () => {
    await leave();
    // Answers for the provider's sign-in page.
    const person = { sub: "1", email: "hopper@example.com", email_verified: true, name: "Hopper" };
    let answer = async (asked: string): Promise<URL> => issuer.refuse(asked);
    await page.route(`${issuer.provider.issuer}/**`, async (route) => {
      await route.fulfill({ status: 302, headers: { location: (await answer(route.request().url())).href } });
    });
    const goThere = () => page.getByRole("button", { name: "Continue with Acme" }).click();
    await goThere();
    await page.getByText("The provider rejected the sign-in.").waitFor();
    for (const [who, mischief, sentence] of [
      [{ ...person, email_verified: false }, {}, "The provider has not verified your email address."],
      [{ sub: "1" }, {}, "The provider did not share your email address."],
      [person, { status: { token: 503 } }, "The sign-in provider did not respond."],
      [person, { otherKey: true }, "The provider sent an invalid response."],
    ] as const) {
      await platform.query("delete from identity_attempt");
      answer = (asked) => issuer.signIn(asked, who, mischief);
      await goThere();
      await page.getByText(sentence).waitFor();
    }
    assert.deepEqual(await runAxe(page), []);
    answer = (asked) => issuer.signIn(asked, person);
    await goThere();
    await page.getByRole("heading", { name: "Choose an account type" }).waitFor();
    await page.getByRole("button", { name: /hopper@example.com/ }).waitFor();
    assert.deepEqual(
      complaints().filter((said) => said !== `request to ${issuer.provider.issuer}`),
      [],
    );
  });

  describe("team invitations and roles", () => {
    const GUEST = "guest@example.com";
    let guest: BrowserSession;
    before(async () => {
      // The width of a phone.
      guest = await openBrowser({ baseUrl: platform.ready.gateway_url, width: 390, height: 800 });
    });
    after(() => guest?.close());

    const invite = async (email: string, role: string): Promise<string> => {
      await page.goto("/console/team");
      await page.getByRole("button", { name: "Invite" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Email").fill(email);
      await dialog.getByRole("radio", { name: new RegExp(`^${role}`) }).check();
      await dialog.getByRole("button", { name: "Send invitation" }).click();
      await page.getByRole("status").getByText(`Invitation sent to ${email}`).waitFor();
      return linkOfNextLetter(email);
    };
    const change = async (item: string): Promise<void> => {
      await page.getByRole("button", { name: `Actions for ${GUEST}` }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };
    /** Calls the API directly, because the page shows key creation only to roles that have the permission. */
    const createKey = async (): Promise<unknown[]> => {
      const more = { data: { name: "by hand" }, headers: { "sec-fetch-site": "same-origin" } };
      const answer = await guest.page.request.post("/console/api/keys", more);
      const { error } = (await answer.json()) as { error?: { code: string } };
      return [answer.status(), error?.code];
    };

    test("an invited person signs up first and joins with the link in the email; no other user can use the link", async () => {
      await page.getByLabel("Name", { exact: true }).fill("Compilers");
      await page.getByRole("button", { name: "Create builder account" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      const link = await invite(GUEST, "viewer");
      await page.getByRole("table", { name: "Pending invitations" }).getByText(GUEST).waitFor();
      await checkVisuals(browser, "the team page");
      await page.clock.install();
      await page.goto(link);
      await page.getByRole("heading", { name: "You cannot join with this link" }).waitFor();
      await page.getByText("This invitation is for another email address").waitFor();
      assert.equal(new URL(page.url()).hash, "", "the token does not stay in the address");
      // An open page must not repeat its request for the invitation, because each request counts against the limit of
      // attempts.
      let asked = 0;
      page.on("request", (request) => {
        if (new URL(request.url()).pathname === "/console/api/team/invitation") asked += 1;
      });
      await page.clock.fastForward("02:00");
      await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
      // A marker request: all requests caused by the elapsed time and the return to the tab were sent before it.
      await page.evaluate("fetch('/console/api/auth/methods').then(() => undefined)");
      assert.equal(asked, 0, "asked again about an invitation that was refused");
      assert.deepEqual(complaints(), []);

      const { page: theirs } = guest;
      await theirs.goto(link);
      await theirs.getByRole("heading", { name: "You are invited to a team" }).waitFor();
      await checkVisuals(guest, "an invitation, signed out");
      await theirs.getByRole("link", { name: "Create account" }).click();
      await theirs.getByLabel("Your name").fill("Guest");
      await theirs.getByLabel("Email").fill(GUEST);
      await theirs.getByLabel("Password", { exact: true }).fill(FIRST);
      await theirs.getByRole("button", { name: "Create account" }).click();
      await theirs.goto(await linkOfNextLetter(GUEST));
      await theirs.getByRole("button", { name: "Confirm" }).click();
      await theirs.getByRole("link", { name: "Sign in" }).click();
      await theirs.getByLabel("Email").fill(GUEST);
      await theirs.getByLabel("Password", { exact: true }).fill(FIRST);
      await theirs.getByRole("button", { name: "Sign in", exact: true }).click();
      // After the sign-in, the tab returns to the invitation that was opened before.
      await theirs.getByRole("heading", { name: "Join Compilers" }).waitFor();
      await theirs.getByText("hopper@example.com invited you").waitFor();
      await checkVisuals(guest, "an invitation");
      await theirs.getByRole("button", { name: "Accept" }).click();
      await theirs.getByRole("heading", { name: "Overview" }).waitFor();
    });

    test("a viewer cannot create a key and sees whom to ask for credit; a viewer who becomes a member sees the change live", async () => {
      const { page: theirs } = guest;
      await theirs.goto("/console/playground");
      await theirs.getByText("Compilers has no available credit").waitFor();
      await theirs.getByText("Ask an owner or a billing member to add it.").waitFor();
      assert.equal(await theirs.getByRole("link", { name: "Add credit" }).count(), 0);

      await theirs.goto("/console/keys");
      await theirs.getByText("Your role in Compilers is viewer").waitFor();
      assert.equal(await theirs.getByRole("button", { name: "Create key" }).count(), 0);
      await checkVisuals(guest, "what a viewer sees of keys");
      assert.deepEqual(await createKey(), [403, "role_required"]);

      await page.goto("/console/team");
      await change("Change role");
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("radio", { name: /^member/ }).check();
      await checkVisuals(browser, "the dialog for a role");
      await Promise.all([
        // The notice is shown only for some seconds, and may appear before the other user's page updates.
        theirs.getByText("Your role in Compilers is now member.").first().waitFor(),
        dialog.getByRole("button", { name: "Change role" }).click(),
      ]);
      await page.getByText(`changed the role of ${GUEST} to member`).waitFor();
      await theirs.getByRole("button", { name: "Create key" }).first().click();
      await theirs.getByRole("dialog").getByLabel("Name").fill("theirs");
      await theirs.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
      await theirs.getByTestId("secret").waitFor();
      await theirs.getByRole("button", { name: /^I saved the/ }).click();
      await theirs.goto("/console/team");
      await theirs.getByRole("button", { name: "Leave" }).waitFor();
      await checkVisuals(guest, "what a member sees of the team");
    });

    test("a removed member sees a notice on the page that is open", async () => {
      await change("Remove");
      await Promise.all([
        guest.page.getByText("You no longer have access to Compilers").first().waitFor(),
        page.getByRole("dialog").getByRole("button", { name: "Remove" }).click(),
      ]);
      await page.getByText(`hopper@example.com removed ${GUEST}`).waitFor();
      await guest.page.getByRole("heading", { name: "Choose an account type" }).waitFor();
      assert.deepEqual(await createKey(), [403, "no_account"]);
      assert.deepEqual(complaints(), []);
    });
  });
});
