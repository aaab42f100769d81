/** Who may call which route of the console: one row for each, by which the authorisation tests go. */
import type { Guards } from "../guards.ts";
import type { Thing, Who } from "./world.ts";

export interface Access {
  /** As it was registered: `PATCH /console/api/keys/:id`. */
  route: string;
  /** Whom it lets in. */
  guard: keyof Guards;
  /** What its `:id` names. */
  thing?: Thing;
  body?: object;
  /** The answer to whoever may call it and owns what it names. */
  ok: number;
  /** The refusal where the thing is another's, or is none. */
  absent?: "not_found" | "node_not_found";
  /** Those who pass the guard and are refused by a rule of the route's own. */
  except?: Partial<Record<Who, string>>;
  /** The answer never ends. */
  live?: boolean;
}

const reason = { reason: "a test" };

/** In an order in which none takes away what a later one needs. */
export const ACCESS: Access[] = [
  ...(["sign-up/email", "sign-in/email", "sign-in/code", "sign-in/openid"] as const).map(anyone),
  ...(["request-password-reset", "reset-password", "request-email-verification", "verify-email"] as const).map(anyone),
  { route: "GET /console/api/auth/methods", guard: "anyone", ok: 200 },
  { route: "GET /console/api/auth/get-session", guard: "anyone", ok: 200 },
  { route: "GET /console/api/auth/callback/:provider", guard: "anyone", ok: 400 },
  ...(["change-password", "two-factor/enable", "two-factor/confirm"] as const).map(ofSignIn),
  ...(["two-factor/backup-codes", "two-factor/disable"] as const).map(ofSignIn),

  { route: "GET /console/api/me", guard: "signedIn", ok: 200 },
  {
    route: "PATCH /console/api/accounts/:id",
    guard: "signedIn",
    thing: "account",
    body: { name: "Renamed" },
    ok: 200,
    absent: "not_found",
  },
  { route: "GET /console/api/sessions", guard: "signedIn", ok: 200 },
  { route: "DELETE /console/api/sessions/:id", guard: "signedIn", thing: "session", ok: 200, absent: "not_found" },
  { route: "DELETE /console/api/sessions", guard: "signedIn", ok: 200 },
  { route: "GET /console/api/packs", guard: "signedIn", ok: 200 },
  {
    route: "POST /console/api/quote",
    guard: "builder",
    body: { model: "tiny-3b", messages: [{ role: "user", content: "hello" }] },
    ok: 200,
  },
  { route: "GET /console/api/models", guard: "signedIn", ok: 200 },

  { route: "GET /console/api/keys", guard: "builder", ok: 200 },
  { route: "POST /console/api/keys", guard: "builder", body: { name: "a key" }, ok: 201 },
  {
    route: "PATCH /console/api/keys/:id",
    guard: "builder",
    thing: "key",
    body: { name: "renamed" },
    ok: 200,
    absent: "not_found",
  },
  { route: "DELETE /console/api/keys/:id", guard: "builder", thing: "key", ok: 200, absent: "not_found" },
  { route: "GET /console/api/requests", guard: "builder", ok: 200 },
  { route: "GET /console/api/requests.csv", guard: "builder", ok: 200 },
  { route: "GET /console/api/requests/:id", guard: "builder", thing: "request", ok: 200, absent: "not_found" },
  { route: "GET /console/api/requests/:id/receipt", guard: "builder", thing: "request", ok: 200, absent: "not_found" },
  { route: "GET /console/api/balance", guard: "builder", ok: 200 },
  { route: "GET /console/api/usage", guard: "builder", ok: 200 },
  { route: "GET /console/api/ledger", guard: "builder", ok: 200 },
  { route: "GET /console/api/live", guard: "builder", ok: 200, live: true },
  { route: "POST /console/api/credits/checkout", guard: "buyer", body: { pack_id: "pack_5" }, ok: 200 },

  { route: "GET /console/api/host-tokens", guard: "host", ok: 200 },
  { route: "POST /console/api/host-tokens", guard: "host", body: { name: "a token" }, ok: 201 },
  { route: "DELETE /console/api/host-tokens/:id", guard: "host", thing: "token", ok: 200, absent: "not_found" },
  { route: "GET /console/api/node-models", guard: "host", ok: 200 },
  { route: "GET /console/api/earnings", guard: "host", ok: 200 },
  { route: "GET /console/api/earnings.csv", guard: "host", ok: 200 },
  { route: "GET /console/api/earnings/sums", guard: "host", ok: 200 },
  { route: "GET /console/api/earnings/:id/receipt", guard: "host", thing: "request", ok: 200, absent: "not_found" },
  { route: "GET /console/api/nodes", guard: "host", ok: 200 },
  { route: "GET /console/api/nodes/:id", guard: "host", thing: "node", ok: 200, absent: "node_not_found" },
  {
    route: "PUT /console/api/nodes/:id/elections",
    guard: "host",
    thing: "node",
    body: { models: ["small-8b"] },
    ok: 200,
    absent: "node_not_found",
  },
  { route: "POST /console/api/nodes/:id/pause", guard: "host", thing: "node", ok: 200, absent: "node_not_found" },
  { route: "POST /console/api/nodes/:id/resume", guard: "host", thing: "node", ok: 200, absent: "node_not_found" },

  { route: "GET /console/api/operator/overview", guard: "operator", ok: 200 },
  { route: "GET /console/api/operator/live", guard: "operator", ok: 200, live: true },
  { route: "GET /console/api/operator/ledger/check", guard: "operator", ok: 200 },
  { route: "GET /console/api/operator/audit", guard: "operator", ok: 200 },
  { route: "GET /console/api/operator/accounts", guard: "operator", ok: 200 },
  ...(["GET", "GET /keys"] as const).map((call) => ofAccount(call)),
  ofAccount("POST /grant", { amount_micro: "1", ...reason }),
  ofAccount("POST /suspend", reason),
  ofAccount("POST /restore", reason),
  {
    route: "PUT /console/api/operator/keys/:id/limits",
    guard: "operator",
    thing: "key",
    body: { in_flight: 1 },
    ok: 200,
    absent: "not_found",
  },
  { route: "GET /console/api/operator/nodes", guard: "operator", ok: 200 },
  { route: "GET /console/api/operator/nodes/:id", guard: "operator", thing: "node", ok: 200, absent: "node_not_found" },
  {
    route: "POST /console/api/operator/nodes/:id/quarantine",
    guard: "operator",
    thing: "node",
    body: reason,
    ok: 200,
    absent: "node_not_found",
  },
  {
    route: "POST /console/api/operator/nodes/:id/clear",
    guard: "operator",
    thing: "withheld node",
    ok: 200,
    absent: "node_not_found",
  },
  {
    route: "POST /console/api/operator/nodes/:id/release",
    guard: "operator",
    thing: "quarantined node",
    ok: 200,
    absent: "node_not_found",
  },
  { route: "GET /console/api/operator/payouts", guard: "operator", ok: 200 },
  { route: "POST /console/api/operator/payouts", guard: "operator", body: { note: "a test" }, ok: 201 },
  { route: "GET /console/api/operator/payouts/:id", guard: "operator", thing: "batch", ok: 200, absent: "not_found" },
  {
    route: "GET /console/api/operator/payouts/:id/csv",
    guard: "operator",
    thing: "batch",
    ok: 200,
    absent: "not_found",
  },
  {
    route: "POST /console/api/operator/payouts/:id/paid",
    guard: "operator",
    thing: "batch",
    ok: 200,
    absent: "not_found",
  },

  // Last, because these change who can do what.
  {
    route: "POST /console/api/accounts",
    guard: "signedIn",
    body: { kind: "host", name: "Another" },
    ok: 201,
    except: { "suspended builder": "account_suspended", "suspended host": "account_suspended" },
  },
  { route: "POST /console/api/auth/sign-out", guard: "anyone", ok: 200 },
];

/** Anybody may call it; an empty body is refused by its fields, so nothing happens. */
function anyone(path: string): Access {
  return { route: `POST /console/api/auth/${path}`, guard: "anyone", body: {}, ok: 400 };
}

function ofSignIn(path: string): Access {
  return { route: `POST /console/api/auth/${path}`, guard: "signedIn", body: {}, ok: 400 };
}

function ofAccount(call: string, body?: object): Access {
  const [method, path = ""] = call.split(" ");
  const route = `${method} /console/api/operator/accounts/:id${path}`;
  return {
    route,
    guard: "operator",
    thing: "account",
    ok: 200,
    absent: "not_found",
    ...(body !== undefined && { body }),
  };
}
