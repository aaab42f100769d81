/**
 * Tests that `tollgate doctor` finds operators' mistakes and says how to fix them, and that `serve` logs the same
 * findings.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { CheckResult } from "@tollgate/terminal/check-results.ts";
import { runCommandLine } from "@tollgate/terminal/run-command-line.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { DAY_MS } from "../../base/time.ts";
import { openGatewaySettings } from "../../build/shared-settings.ts";
import { parseConfig } from "../../config.ts";
import type { ConnectionLimit } from "../../db/connection-limits.ts";
import { compareSharedSettings } from "../../db/deployment/compare-settings.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import { findValkeyServer, startValkeyServer } from "../../limits/testing-limits.ts";
import { EVENT_TYPES } from "../../payments/stripe-events.ts";
import { createKey } from "../../plane/credentials/nkeys.ts";
import { selfSignedCertificate } from "../../plane/hub/testing-certificate.ts";
import { loadServerSecrets } from "../../server-secrets.ts";
import { TOLLGATE_COMMANDS } from "../tollgate.ts";
import { checkCertificate } from "./certificates.ts";
import {
  checkConnections,
  checkDatabaseClock,
  checkDatabaseState,
  checkStandby,
  type DatabaseState,
} from "./database.ts";
import { encryptionChecks } from "./encryption.ts";
import { checkEvictionPolicy, paymentChecks } from "./limits-mail-and-payment-checks.ts";
import { checkDirectory, checkFreeSpace, checkOpenFileLimit } from "./machine.ts";
import { checkNatsServer } from "./plane.ts";
import { logFindings } from "./run-checks.ts";

const MIB = 1024 ** 2;
const MAIL = { SMTP_URL: "smtp://127.0.0.1:1", MAIL_FROM: "a@b.example", PUBLIC_URL: "http://127.0.0.1:8080" };
const seedOf = (role: "account" | "operator" | "user"): string => createKey(role, systemRandom()).seed;
const PEPPER = "the pepper of these tests, 32 characters";

/** Compares a check's verdict, name, finding and remedy. */
const assertCheck = (
  { name, verdict, detail, next }: CheckResult,
  which: string,
  found: RegExp,
  todo?: RegExp,
): void => {
  assert.equal(`${verdict} ${name}`, which, detail);
  assert.match(detail, found);
  if (todo === undefined) assert.equal(next, undefined);
  else assert.match(next ?? "", todo);
};

/** The socket directory is a query parameter, because it cannot be a URL's host. */
function urlOf({ connection }: TestDatabase): string {
  if ("connectionString" in connection) return connection.connectionString;
  const { host, port, user, database } = connection;
  return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}

describe("a check of tollgate doctor", () => {
  const space = { setting: "SPOOL_DIR", directory: "/spool" };
  test("reports a disk with little free space", () => {
    assertCheck(
      checkFreeSpace("spool", { ...space, freeBytes: 9_000 * MIB }),
      "ok spool",
      /^\/spool: writable, 9,000 MiB free$/,
    );
    assertCheck(checkFreeSpace("spool", { ...space, freeBytes: 1_000 * MIB }), "warn spool", /1,000 MiB/, /SPOOL_DIR/);
    assertCheck(checkFreeSpace("spool", { ...space, freeBytes: 10 * MIB }), "fail spool", /10 MiB/, /free disk space/);
  });

  test("reports a directory that is not writable", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "tollgate-doctor-"));
    t.after(() => rm(folder, { recursive: true }));
    const file = join(folder, "file");
    await writeFile(file, "");
    assertCheck(await checkDirectory("data", "DATA_DIR", join(folder, "not", "yet")), "ok data", /writable/);
    assertCheck(await checkDirectory("data", "DATA_DIR", file), "fail data", /is not writable \(ENOTDIR\)/, /DATA_DIR/);
  });

  test("reports a low limit of open files", () => {
    const limits = (most: string): string =>
      `Max processes  1  1  processes\nMax open files            ${most}   1048576  files\n`;
    assertCheck(checkOpenFileLimit(limits("unlimited")), "ok files", /unlimited/);
    assertCheck(checkOpenFileLimit(limits("65536")), "ok files", /65536/);
    assertCheck(checkOpenFileLimit(limits("4096")), "warn files", /4096/, /LimitNOFILE=65536/);
    assertCheck(checkOpenFileLimit(limits("256")), "fail files", /256/, /ulimit -n/);
  });

  const state: DatabaseState = {
    ...{ version: 17, name: "17.4", isStandby: false, readOnly: false, ms: 0, syncNames: "", syncStandbys: 0 },
  };
  const found = (other: Partial<DatabaseState>): CheckResult => checkDatabaseState({ ...state, ...other });
  test("reports the database's version, a standby and missing write permissions", () => {
    assertCheck(found({}), "ok database", /^PostgreSQL 17\.4 answers$/);
    assertCheck(found({ version: 14, name: "14.2" }), "fail database", /14\.2 is too old/, /15 or newer/);
    assertCheck(found({ isStandby: true }), "fail database", /standby/, /DATABASE_URL to the primary/);
    assertCheck(found({ readOnly: true }), "fail database", /read-only/, /default_transaction_read_only/);
  });

  test("reports a connection limit of the server, role or database that is too low for this gateway or for all", () => {
    const server = (used: number): ConnectionLimit => ({ limit: "server", max: 97, used });
    const alone = { needed: 24, others: 0 };
    assertCheck(checkConnections([server(17)], alone), "ok pool", /80 of 97 connections/);
    assertCheck(checkConnections([server(94)], alone), "warn pool", /3 of 97/, /max_connections/);
    assertCheck(
      checkConnections([server(17), { limit: "role", max: 10, used: 0 }], alone),
      "fail pool",
      /^PostgreSQL allows 10 connections, .* up to 24$/,
      /CONNECTION LIMIT/,
    );
    assertCheck(
      checkConnections([server(17)], { needed: 24, others: 74 }),
      "warn pool",
      /^PostgreSQL allows 97 connections, but this gateway and the other running ones open up to 98$/,
      /DATABASE_POOL_MAX/,
    );
  });

  test("reports whether a standby confirms commits (synchronous replication)", () => {
    assertCheck(
      checkStandby({ syncNames: "", syncStandbys: 0 }),
      "warn standby",
      /loses the last charges/,
      /synchronous_standby_names/,
    );
    assertCheck(checkStandby({ syncNames: "b", syncStandbys: 0 }), "fail standby", /commits wait/, /start the standby/);
    assertCheck(checkStandby({ syncNames: "b", syncStandbys: 1 }), "ok standby", /confirms/);
    // A user without the role pg_monitor cannot see the state of standbys.
    assertCheck(checkStandby({ syncNames: "b", syncStandbys: null }), "ok standby", /confirms/);
  });

  test("tolerates network delay when it compares clocks", () => {
    assertCheck(checkDatabaseClock(1_400, 600), "ok clock", /agrees/);
    assertCheck(checkDatabaseClock(3_000, 100), "warn clock", /2\.9 s behind/, /NTP/);
    assertCheck(checkDatabaseClock(-3_600_000, 10), "fail clock", /3600\.0 s ahead of/, /NTP/);
  });

  test("reports a NATS server's version and payload limit", () => {
    assertCheck(
      checkNatsServer("a:4222", { version: "2.11.1", max_payload: 1_048_576 }),
      "ok plane",
      /a:4222 has NATS 2\.11\.1/,
    );
    assertCheck(
      checkNatsServer("a:4222", { version: "2.8.4", max_payload: 1_048_576 }),
      "fail plane",
      /2\.8\.4/,
      /2\.9 or newer/,
    );
    assertCheck(
      checkNatsServer("a:4222", { version: "2.11.1", max_payload: 65_536 }),
      "fail plane",
      /65536 bytes/,
      /max_payload to 1MB/,
    );
  });

  test("reports a Valkey server that may evict the counters of rate limits", () => {
    assertCheck(checkEvictionPolicy("noeviction"), "ok eviction", /noeviction/);
    assertCheck(
      checkEvictionPolicy("allkeys-lru"),
      "fail eviction",
      /allkeys-lru/,
      /CONFIG SET maxmemory-policy noeviction/,
    );
    assertCheck(checkEvictionPolicy(undefined), "warn eviction", /does not report/, /noeviction/);
  });

  test("reports test keys on a public platform, and live keys at a test URL", () => {
    const check = (mode: string, others: { publicUrl?: string; apiBase?: string } = {}): CheckResult => {
      const { apiBase, publicUrl } = others;
      const payments = { secretKey: `sk_${mode}_1`, webhookSecrets: ["whsec_1"], apiBase, invoices: false };
      return [...paymentChecks({ config: { payments, publicUrl } })][0] as CheckResult;
    };
    assertCheck(check("live", { publicUrl: "https://gate.example" }), "ok payments", /^live keys$/);
    assertCheck(check("test"), "ok payments", /^test keys$/);
    assertCheck(
      check("test", { publicUrl: "https://gate.example" }),
      "warn payments",
      /pay no real money/,
      /live mode/,
    );
    assertCheck(check("live", { apiBase: "https://x.example" }), "fail payments", /STRIPE_API_BASE/, /unset/);
  });

  test("reports an expired certificate, a wrong hostname and unreadable files", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "tollgate-doctor-"));
    t.after(() => rm(folder, { recursive: true }));
    const { cert, key } = selfSignedCertificate();
    const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
    await writeFile(files.certFile, cert);
    await writeFile(files.keyFile, key);
    const check = (host: string | undefined, atMs: number): Promise<CheckResult> =>
      checkCertificate("tls", { files, prefix: "TLS", host, now: atMs });
    const { validToDate } = new X509Certificate(cert);
    const ends = validToDate.getTime();
    assertCheck(await check("localhost", ends - 20 * DAY_MS), "ok tls", /TLS_CERT is valid until/);
    assertCheck(await check("127.0.0.1", ends - 3 * DAY_MS), "warn tls", /expires on/, /renew/);
    assertCheck(await check("localhost", ends + DAY_MS), "fail tls", /expired on/, /renew/);
    assertCheck(
      await check("other.example", ends - 20 * DAY_MS),
      "fail tls",
      /not valid for other\.example/,
      /certificate for/,
    );
    await rm(files.keyFile);
    assertCheck(
      await check(undefined, ends - 20 * DAY_MS),
      "fail tls",
      /TLS_KEY: .* cannot be read \(ENOENT\)/,
      /TLS_CERT and TLS_KEY/,
    );
  });
});

describe("tollgate doctor", () => {
  let database: TestDatabase;
  let folder: string;
  let env: Record<string, string>;
  before(async () => {
    [database, folder] = [await openTestDatabase(), await mkdtemp(join(tmpdir(), "tollgate-doctor-"))];
    const seed = Buffer.alloc(32, 1).toString("base64url");
    env = { DATABASE_URL: urlOf(database), KEY_PEPPER: PEPPER, RECEIPT_SEED: seed, DATA_DIR: join(folder, "data") };
  });
  after(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });

  const doctor = async (others: Record<string, string> = {}): Promise<{ code: number; checks: CheckResult[] }> => {
    const terminal = new FakeTerminal();
    const code = await runCommandLine(TOLLGATE_COMMANDS, ["doctor", "--json"], {
      terminal,
      env: { ...env, ...others },
    });
    assert.deepEqual(terminal.remarks, []);
    const { ok, checks } = JSON.parse(terminal.lines.join("\n")) as { ok: boolean; checks: CheckResult[] };
    assert.equal(ok, code === 0);
    for (const { verdict, next } of checks) assert.equal(next === undefined, verdict === "ok");
    assert.ok(!terminal.everything.includes(PEPPER));
    return { code, checks };
  };
  const of = (checks: CheckResult[], name: string): CheckResult =>
    checks.find((check) => check.name === name) ?? assert.fail(name);

  test("exits with 1 on a database that can lose confirmed commits, and with 0 when the setting allows it", async () => {
    const { code, checks } = await doctor();
    assert.equal(code, 1);
    assertCheck(
      of(checks, "settings"),
      "fail settings",
      /^the database has fsync = off/,
      /^ALTER SYSTEM SET fsync = on/,
    );
    assert.equal((await doctor({ DATABASE_DURABILITY: "assumed" })).code, 0);
  });

  test("lists every mistake in the settings", async () => {
    const { code, checks } = await doctor({ PORT: "many", KEY_PEPPER: "short" });
    assert.equal(code, 1);
    assert.deepEqual(
      checks.map(({ name, verdict, detail }) => [name, verdict, detail.split(" ")[0]]),
      [
        ["settings", "fail", "PORT"],
        ["settings", "fail", "KEY_PEPPER"],
      ],
    );
  });

  test("names unreachable services", async () => {
    const away = { DATABASE_URL: "postgres://u:secret@127.0.0.1:1/x", VALKEY_URL: "redis://127.0.0.1:1" };
    const { code, checks } = await doctor({ ...away, ...MAIL });
    assert.equal(code, 1);
    for (const name of ["database", "limits", "mail"])
      assertCheck(of(checks, name), `fail ${name}`, /127\.0\.0\.1:1/, /^check /);
    assert.ok(!JSON.stringify(checks).includes("secret"));
  });

  test("names settings that differ from the deployment's, and changes nothing", async () => {
    const config = parseConfig(env);
    const own = await openGatewaySettings({ config, secrets: await loadServerSecrets(config), newId: undefined });
    await compareSharedSettings({ pool: database.pool, own: own.tell, isOnly: false, records: true });
    own.close();
    const lax = { DATABASE_DURABILITY: "assumed" };
    assertCheck(of((await doctor(lax)).checks, "deployment"), "ok deployment", /the same as the other gateways'/);
    const { code, checks } = await doctor({ ...lax, KEY_PEPPER: "a pepper that is another, 32 characters", ...MAIL });
    assert.equal(code, 1);
    const differing = checks.filter(({ name }) => name === "deployment").map(({ detail }) => detail.split(" ")[0]);
    assert.deepEqual(differing, ["KEY_PEPPER", "SMTP_URL"]);
    assertCheck(of((await doctor(lax)).checks, "deployment"), "ok deployment", /the same as the other gateways'/);
  });

  test("names a server that does not speak NATS", async (t) => {
    const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const nats = {
      ...{
        NATS_URL: `nats://127.0.0.1:${port}`,
        PLANE_SEED: seedOf("account"),
        NATS_OPERATOR_SEED: seedOf("operator"),
      },
      ...{ NATS_SYSTEM_JWT: "a.b.c", NATS_SYSTEM_SEED: seedOf("user") },
    };
    assertCheck(of((await doctor(nats)).checks, "plane"), "fail plane", /the server is not a NATS server$/, /NATS_URL/);
  });

  const binary = findValkeyServer();
  test("finds Stripe's endpoint missing, disabled or without events, and a refused key", async (t) => {
    const url = "https://gate.example/webhooks/stripe";
    let reply: { status: number; endpoints: object[] } = { status: 200, endpoints: [] };
    const stripe = createHttpServer((_request, response) => {
      const { status, endpoints } = reply;
      const body = status === 200 ? { object: "list", data: endpoints } : { error: { type: "invalid_request_error" } };
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    t.after(() => stripe.close());
    await once(stripe, "listening");
    const settings = {
      STRIPE_SECRET_KEY: "sk_test_1",
      STRIPE_WEBHOOK_SECRET: "whsec_1",
      STRIPE_API_BASE: `http://127.0.0.1:${(stripe.address() as AddressInfo).port}`,
      PUBLIC_URL: "https://gate.example",
    };
    const table: [typeof reply, string, RegExp, RegExp?][] = [
      [
        { status: 200, endpoints: [] },
        "fail webhooks",
        /has no webhook endpoint https:\/\/gate/,
        /STRIPE_WEBHOOK_SECRET/,
      ],
      [
        { status: 200, endpoints: [{ url, status: "disabled", enabled_events: ["*"] }] },
        ...(["fail webhooks", /has disabled/, /enable the endpoint/] as const),
      ],
      [
        { status: 200, endpoints: [{ url, status: "enabled", enabled_events: EVENT_TYPES.slice(1) }] },
        ...(["fail webhooks", /lacks the events checkout\.session\.completed$/, /add these events/] as const),
      ],
      [
        { status: 200, endpoints: [{ url, status: "enabled", enabled_events: EVENT_TYPES }] },
        "ok webhooks",
        /all needed events/,
      ],
      [{ status: 401, endpoints: [] }, "fail webhooks", /refuses STRIPE_SECRET_KEY/, /dashboard/],
      [{ status: 403, endpoints: [] }, "warn webhooks", /may not read/, /permission/],
    ];
    for (const [its, which, found, todo] of table) {
      reply = its;
      assertCheck(of((await doctor(settings)).checks, "webhooks"), which, found, todo);
    }
  });

  test("finds an OpenID provider that is unreachable or has another issuer", async (t) => {
    const provider = createHttpServer((_request, response) => {
      const at = (path: string): string => `https://id.example/${path}`;
      const endpoints = { authorization_endpoint: at("a"), token_endpoint: at("t"), jwks_uri: at("k") };
      response.end(JSON.stringify({ issuer: told, ...endpoints }));
    }).listen(0, "127.0.0.1");
    t.after(() => provider.close());
    await once(provider, "listening");
    const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    let told = issuer;
    const settings = (at: string) => ({
      OIDC_PROVIDERS: JSON.stringify([{ id: "work", name: "Work", issuer: at, client_id: "c", client_secret: "s" }]),
      PUBLIC_URL: "http://127.0.0.1:8080",
    });
    assertCheck(of((await doctor(settings(issuer))).checks, "openid"), "ok openid", /names itself as the issuer/);
    told = "https://other.example";
    assertCheck(
      of((await doctor(settings(issuer))).checks, "openid"),
      "fail openid",
      /provider work: .* returned the issuer https:\/\/other\.example instead of/,
      /set issuer in OIDC_PROVIDERS/,
    );
    assertCheck(
      of((await doctor(settings("http://127.0.0.1:1"))).checks, "openid"),
      "fail openid",
      /provider work: request to 127\.0\.0\.1:1.* failed/,
      /OIDC_PROVIDERS/,
    );
  });

  test("warns of connections without TLS that leave the machine", async () => {
    const found = (databaseUrl: string, valkeyUrl: string): CheckResult[] => [
      ...encryptionChecks({ config: { ...parseConfig(env), databaseUrl, valkeyUrl } }),
    ];
    const [plain, limits] = found("postgres://u@127.0.0.1,db.example/x", "redis://limits.example:6379") as [
      CheckResult,
      CheckResult,
    ];
    assertCheck(plain, "warn encryption", /the database at db\.example may be without TLS$/, /sslmode=verify-full/);
    assertCheck(limits, "warn encryption", /the limits server at limits\.example/, /rediss:\/\//);
    for (const check of [
      ...found("postgres://u@db.example/x?sslmode=require", "valkeys://limits.example"),
      ...found("postgres://u@localhost/x", "/run/valkey.sock"),
      ...found("postgres:///x?host=/run/postgresql", "redis://[::1]:6379"),
    ])
      assertCheck(check, "ok encryption", /uses TLS or stays on this machine/);
    assertCheck(
      found("postgres://u@db.example/x?sslmode=prefer", "redis://localhost")[0] as CheckResult,
      "warn encryption",
      /db/,
      /./,
    );
  });

  test("reports a limits server (Valkey) that evicts counters; `tollgate serve` logs the same problem", {
    skip: binary === undefined && "no server",
  }, async (t) => {
    const server = await startValkeyServer(binary as string, ["--maxmemory-policy", "allkeys-lru"]);
    t.after(() => server.kill());
    const lax = { VALKEY_URL: server.url, DATABASE_DURABILITY: "assumed" };
    const { code, checks } = await doctor(lax);
    assert.equal(code, 1);
    assertCheck(of(checks, "limits"), "ok limits", /answers, version \d/);
    assertCheck(of(checks, "eviction"), "fail eviction", /allkeys-lru/, /noeviction/);
    const lines: { level: number; msg: string; check?: string }[] = [];
    const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
    const config = parseConfig({ ...env, ...lax });
    await logFindings({ config, clock: systemClock, newId: newIds(systemClock, systemRandom()) }, log);
    assert.deepEqual(
      lines.filter(({ level }) => level === 50).map(({ check }) => check),
      ["eviction"],
    );
  });
});
