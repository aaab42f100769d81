/** Test helper: a console with an OpenID provider, browsers that sign in with it, and the console's log. */
import assert from "node:assert/strict";
import {
  type OpenIdPerson,
  openTestOpenIdProvider,
  type ProviderFaults,
  type TestOpenIdProvider,
} from "../../accounts/testing/openid-provider.ts";
import { createLog } from "../../base/log.ts";
import type { Browser } from "./browser.ts";
import { openTestPlatform, type TestPlatform } from "./platform.ts";

export const AUTH_BASE_PATH = "/console/api/auth";
export const PUBLIC_URL = "http://gate.test";

export interface OpenIdStage {
  issuer: TestOpenIdProvider;
  /** The provider is configured twice: as `test`, and as `company`, whose email addresses are trusted. */
  platform: TestPlatform;
  /** The parsed lines of the log. */
  logged: Record<string, unknown>[];
  /** Follows the redirects to the provider and back. */
  signIn(browser: Browser, who: OpenIdPerson, more?: { provider?: string; mischief?: ProviderFaults }): Promise<string>;
  /** Runs the function, and returns the outcome and reason of each refused sign-in in the log. */
  told(happens: () => Promise<unknown>): Promise<[outcome: unknown, reason: unknown][]>;
  close(): Promise<void>;
}

export async function openOpenIdStage(): Promise<OpenIdStage> {
  const logged: Record<string, unknown>[] = [];
  const log = createLog("info", { write: (line) => void logged.push(JSON.parse(line)) });
  const issuer = await openTestOpenIdProvider();
  const company = { ...issuer.provider, id: "company", name: "The company", trustEmail: true };
  const platform = await openTestPlatform({ publicUrl: PUBLIC_URL, log, oidcProviders: [issuer.provider, company] });
  return {
    issuer,
    platform,
    logged,
    async signIn(browser, who, more = {}) {
      const url = await startOpenIdSignIn(browser, more.provider);
      return await finishOpenIdSignIn(browser, await issuer.signIn(url, who, more.mischief));
    },
    async told(happens) {
      const from = logged.length;
      await happens();
      return logged.slice(from).map(({ msg, level, time, provider, outcome, reason, ...more }) => {
        assert.equal(msg, "OpenID sign-in refused");
        assert.deepEqual([provider, more], ["test", {}]);
        return [outcome, reason];
      });
    },
    async close() {
      await platform.close();
      await issuer.close();
    },
  };
}

let people = 0;

/** A person at the provider who has no identity on the platform yet. */
export function createOpenIdPerson(claims: Record<string, unknown> = {}): OpenIdPerson {
  const sub = `subject-${++people}`;
  return { sub, email: `${sub}@example.test`, email_verified: true, name: "Öpen Person", ...claims };
}

/** Starts a sign-in, and returns the URL at the provider without opening it. */
export async function startOpenIdSignIn(browser: Browser, provider = "test"): Promise<string> {
  const answer = await browser.send("POST", `${AUTH_BASE_PATH}/sign-in/openid`, { body: { provider } });
  assert.equal(answer.status, 200, answer.text);
  return String(answer.body.url);
}

/**
 * Follows the provider's redirect back to the gateway. Returns the path in the console to which the gateway then
 * redirects.
 */
export async function finishOpenIdSignIn(browser: Browser, url: URL): Promise<string> {
  assert.equal(url.origin, PUBLIC_URL);
  // Headers of a browser that navigates from another site.
  const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  const answer = await browser.send("GET", `${url.pathname}${url.search}`, { headers });
  assert.equal(answer.status, 302, answer.text);
  return String(answer.headers.location);
}

export const readCurrentIdentity = async (browser: Browser) =>
  (await browser.send("GET", "/console/api/me")).body.identity;
