/** Checks the limits server, the mail server and the payment keys. */
import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import { verifySmtp } from "../../accounts/mail-sender.ts";
import type { Config } from "../../config.ts";
import { type DoctorContext, describeError, type Finding, makeUnreachableFinding } from "./doctor-context.ts";

export async function* limitsChecks({ config: { valkeyUrl: url } }: DoctorContext): AsyncGenerator<Finding> {
  if (url === undefined) {
    yield passedCheck("limits", "rate limits are counted in the memory of each gateway (VALKEY_URL is not set)");
    return;
  }
  const { openValkeyServer } = await import("../../limits/valkey-server.ts");
  const server = openValkeyServer(url);
  try {
    const [about, memory, replication] = await Promise.all(
      ["server", "memory", "replication"].map((section) => server.info(section)),
    );
    const version = about?.get("valkey_version") ?? about?.get("redis_version") ?? "of an unknown version";
    yield roleCheck(replication?.get("role")) ?? passedCheck("limits", `answers, version ${version}`);
    yield checkEvictionPolicy(memory?.get("maxmemory_policy"));
  } catch (error) {
    yield makeUnreachableFinding(
      "limits",
      error,
      "check the address in VALKEY_URL, and that Valkey or Redis runs at it",
    );
  } finally {
    server.close();
  }
}

const roleCheck = (role: string | undefined): CheckResult | undefined =>
  role === "slave"
    ? failedCheck("limits", "the limits server is a replica, which accepts no writes", "set VALKEY_URL to the primary")
    : undefined;

export function checkEvictionPolicy(policy: string | undefined): CheckResult {
  if (policy === undefined)
    return warningCheck(
      "eviction",
      "the server does not report its maxmemory-policy",
      "make sure that maxmemory-policy is noeviction",
    );
  if (policy === "noeviction") return passedCheck("eviction", "maxmemory-policy is noeviction");
  return failedCheck(
    "eviction",
    `maxmemory-policy is ${policy}: when memory is short, the server deletes rate-limit counters, and API keys can exceed their limits`,
    "run CONFIG SET maxmemory-policy noeviction, and write it into the server's configuration",
  );
}

export async function* mailChecks({ config: { mail } }: DoctorContext): AsyncGenerator<CheckResult> {
  if (mail === undefined) {
    yield passedCheck("mail", "no email is sent (SMTP_URL is not set)");
    return;
  }
  const { hostname, port } = new URL(mail.url);
  const place = `${hostname}${port === "" ? "" : `:${port}`}`;
  yield await verifySmtp(mail).then(
    () => passedCheck("mail", `${place} accepts this gateway`),
    (error) =>
      failedCheck("mail", `${place}: ${describeError(error)}`, "check SMTP_URL: server, port, user and password"),
  );
}

export function* paymentChecks({
  config: { payments, publicUrl },
}: {
  config: Pick<Config, "payments" | "publicUrl">;
}): Generator<CheckResult> {
  if (payments === undefined) {
    yield passedCheck("payments", "credits are not sold (STRIPE_SECRET_KEY is not set)");
    return;
  }
  const isLive = payments.secretKey.includes("_live_");
  if (isLive && payments.apiBase !== undefined)
    yield failedCheck(
      "payments",
      "STRIPE_SECRET_KEY is a live key, but STRIPE_API_BASE is for tests only",
      "unset STRIPE_API_BASE",
    );
  else if (!isLive && publicUrl?.startsWith("https://") === true)
    yield warningCheck(
      "payments",
      "STRIPE_SECRET_KEY is a test key: customers pay no real money",
      "set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET to those of Stripe's live mode",
    );
  else yield passedCheck("payments", isLive ? "live keys" : "test keys");
}
