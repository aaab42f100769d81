/**
 * For the search for leaks: a platform with every kind of secret, and functions that use it and keep what it answers.
 * Secrets and unique words are registered with `words`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import {
  type BuilderAccount,
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  type HostAccount,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { PRIVATE_DATABASE_ENV, TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { openTestMailbox } from "../../gateway/src/accounts/testing/mail-server.ts";
import { openTestOpenIdProvider, type TestOpenIdProvider } from "../../gateway/src/accounts/testing/openid-provider.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { ConsoleClient, type ConsoleResponse } from "../console-client.ts";
import { LeakMarkers } from "./leak-markers.ts";

const AGENT = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));
export const CHAT_PATH = "/v1/chat/completions";
/** Enough words that the prompt is counted on a worker thread. */
export const LONG_PROMPT_WORDS = 6_000;

export const leakMarkers = new LeakMarkers();
export const makeLeakMarker = (way: string): string => leakMarkers.of(way);
export const keepResponse = leakMarkers.keep.bind(leakMarkers);
export const registerSecret = leakMarkers.secret.bind(leakMarkers);
export const makeScriptPrompt = (orders: object): string => `#script ${JSON.stringify(orders)}`;

export interface SecretsPlatform {
  dataDir: string;
  platform: Platform;
  /** The platform as the helpers for hand-made nodes and requests need it. */
  stage: { baseUrl: string; query: Platform["query"]; balance: () => Promise<bigint> };
  issuer: TestOpenIdProvider;
  demo: DemoPaymentProvider;
  /** From here on the payment provider is unreachable. */
  closeDemo(): Promise<void>;
  builder: BuilderAccount;
  host: HostAccount;
  agent: ChildProcess;
  /** The responses to search for secrets. */
  answers: { what: string; answer: ConsoleResponse }[];
  /** A client of the console whose responses are searched. */
  clientFor(who: string): ConsoleClient;
  cookiesOf(who: ConsoleClient, when: string): void;
  mailedToken(): Promise<string>;
  /** Resets the limit on attempts, because the test makes more than one IP address may make in a minute. */
  forgetAttempts(): Promise<unknown>;
  /** Waits until the scripted node serves: malformed frames may have disconnected it for a moment. */
  served(): Promise<boolean>;
  /** Sends a request and reads its response. */
  call(path: string, init?: RequestInit & { body?: string }): Promise<number>;
  withKey(more?: Record<string, string>): Record<string, string>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<number>;
  chat(prompt: string, more?: object): Promise<number>;
}

/** Starts the platform, and gives each closing function to `after`, also if a later step fails. */
export async function startSecretsPlatform(after: (close: () => unknown) => void): Promise<SecretsPlatform> {
  const dataDir = await createDataDir();
  after(() => removeDataDir(dataDir));
  const mailbox = await openTestMailbox();
  after(() => mailbox.close());
  const demo = await openDemoPaymentProvider({ clock: systemClock, random: systemRandom(), log: createLog("silent") });
  let isDemoOpen = true;
  const closeDemo = async (): Promise<void> => {
    if (isDemoOpen) await demo.close();
    isDemoOpen = false;
  };
  after(closeDemo);
  const issuer = await openTestOpenIdProvider();
  after(() => issuer.close());
  const { id, name, issuer: url, clientId, clientSecret } = issuer.provider;
  const provider = {
    id,
    name,
    issuer: url,
    client_id: clientId,
    client_secret: keepResponse("the client secret", clientSecret),
  };
  const platform = await startPlatform(dataDir, ["--no-node"], {
    ...PRIVATE_DATABASE_ENV,
    KEY_PEPPER: keepResponse("the pepper of keys", TEST_KEY_PEPPER),
    SESSION_SECRET: keepResponse("the session secret", randomBytes(24).toString("hex")),
    OIDC_PROVIDERS: JSON.stringify([provider]),
    LOG_LEVEL: "trace",
    AUTO_QUARANTINE: "false",
    PROBATION_ANSWERS: "0",
    PUBLIC_URL: "http://gate.test",
    SMTP_URL: mailbox.url,
    MAIL_FROM: "noreply@gate.test",
    STRIPE_SECRET_KEY: keepResponse("the provider's key", demo.secretKey),
    STRIPE_WEBHOOK_SECRET: keepResponse("the webhook secret", demo.webhookSecret),
    STRIPE_API_BASE: demo.url,
  });
  after(() => platform.stop());
  demo.deliveries.to(`${platform.ready.gateway_url}/webhooks/stripe`);
  const { query } = platform;
  const stage = { baseUrl: platform.ready.gateway_url, query, balance: async () => 0n };
  const account = await openBuilderAccount(query, DEFAULT_CREDIT_PICO);
  const builder = { account, key: (await makeKey(query, account, HIGH_KEY_LIMITS)).token };
  const host = await openHostAccount(query);
  const flags = ["--gateway", stage.baseUrl, "--name", "scripted", "--engine", "scripted", "--log-level", "trace"];
  const log = openSync(join(dataDir, "agent.log"), "a");
  const agent = spawn(process.execPath, [AGENT, "up", ...flags, "--models", "tiny-3b,reason-32b,embed-m3"], {
    stdio: ["ignore", log, log, "ipc"],
    env: { ...process.env, TOLLGATE_HOST_TOKEN: platform.ready.host_token },
  });
  after(() => agent.kill("SIGKILL"));
  const served = (): Promise<boolean> =>
    eventually("it serves", async () => {
      const request = { model: "tiny-3b", prompt: makeScriptPrompt({ text: "hello" }) };
      return (await sendUserMessage(stage, builder.key, request)).status === 200;
    });
  await served();
  const answers: SecretsPlatform["answers"] = [];
  const call = async (path: string, init: RequestInit & { body?: string } = {}): Promise<number> => {
    const response = await fetch(`${stage.baseUrl}${path}`, init);
    if (response.body !== null) await readText(response);
    return response.status;
  };
  const withKey = (more: Record<string, string> = {}): Record<string, string> => ({
    authorization: `Bearer ${builder.key}`,
    "content-type": "application/json",
    ...more,
  });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<number> =>
    call(path, {
      method: "POST",
      headers: withKey(headers),
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return {
    dataDir,
    platform,
    stage,
    issuer,
    demo,
    closeDemo,
    builder,
    host,
    agent,
    answers,
    clientFor: (who) => new ConsoleClient(platform, (answer) => answers.push({ what: who, answer })),
    cookiesOf(who, when) {
      for (const [cookie, value] of who.cookies)
        keepResponse(`the cookie ${cookie} ${when}`, decodeURIComponent(value));
    },
    mailedToken: async () => decodeURIComponent(/#token=(\S+)/.exec((await mailbox.next()).text)?.[1] ?? ""),
    forgetAttempts: () => platform.query("delete from identity_attempt"),
    served,
    call,
    withKey,
    post,
    chat: (prompt, more = {}) =>
      post(CHAT_PATH, { model: "tiny-3b", messages: [{ role: "user", content: prompt }], ...more }),
  };
}
