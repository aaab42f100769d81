import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigError, findDatabaseUrl, parseConfig, SETTING_NAMES, SETTINGS_DOMAINS } from "./config.ts";
import { NODE_RULES } from "./fleet/node-standing-rules.ts";
import { HOLD_LEASE_MS } from "./ledger/ledger.ts";

test("defaults apply when no variable is set", () => {
  const config = parseConfig({});
  assert.equal(config.port, 8080);
  assert.equal(config.internalPort, 9090);
  assert.equal(parseConfig({ HOST: "0.0.0.0" }).internalHost, "127.0.0.1", "it does not follow HOST");
  assert.equal(config.databaseUrl, undefined);
  assert.equal(config.dispatchDeadlineMs, 10_000);
  assert.equal(config.jobMsMax, 900_000);
  assert.equal(config.holdLeaseMs, HOLD_LEASE_MS);
  assert.deepEqual(config.nodeRules, NODE_RULES);
  assert.equal(parseConfig({ PORT: "" }).port, 8080, "an empty variable is not set");
});

test("all mistakes are reported at once with their variables", () => {
  const env = {
    PORT: "eighty",
    INTERNAL_PORT: "70000",
    DATABASE_URL: "mysql://x",
    LOG_LEVEL: "loud",
    KEY_PEPPER: "short",
  };
  assert.throws(
    () => parseConfig(env),
    (error: ConfigError) => {
      assert.ok(error instanceof ConfigError);
      for (const name of Object.keys(env)) {
        assert.ok(
          error.mistakes.some((mistake) => mistake.startsWith(name)),
          `${name} in ${error.message}`,
        );
      }
      return !error.message.includes("\n");
    },
  );
});

test("BODY_BUDGET_MB covers at least one large body; each account may use a quarter of it, and at least one body", () => {
  const MiB = 1024 * 1024;
  const budgetOf = (BODY_BUDGET_MB?: string) => parseConfig({ BODY_BUDGET_MB }).bodyBudget;
  assert.deepEqual(budgetOf(), { gatewayBytesMax: 256 * MiB, payerBytesMax: 64 * MiB });
  assert.deepEqual(budgetOf("20"), { gatewayBytesMax: 20 * MiB, payerBytesMax: 10 * MiB });
  assert.throws(() => budgetOf("9"), /BODY_BUDGET_MB must be 10 or more/);
});

test("the error for a number out of range names its unit or limit", () => {
  for (const [name, value, words] of [
    ["JOB_MAX_S", "long", "must be a number of seconds"],
    ["JOB_MAX_S", "1.5", "must be a whole number of seconds"],
    ["JOB_MAX_S", "86401", "must be 86400 or less"],
    ["DATABASE_POOL_MAX", "1", "must be 2 or more"],
    ["DISPATCH_DEADLINE_MS", "soon", "must be a number of milliseconds"],
    ["STATUS_SAMPLE_S", "7", "must divide 3600 evenly"],
  ] as const) {
    assert.throws(() => parseConfig({ [name]: value }), { message: `Configuration: ${name} ${words}` });
  }
});

test("the error for an unknown choice lists the choices", () => {
  assert.deepEqual([parseConfig({ PLANE: "off" }).plane.absent, parseConfig({}).plane.absent], [true, false]);
  assert.equal(parseConfig({ AUTO_QUARANTINE: "false" }).autoQuarantine, false);
  assert.throws(() => parseConfig({ PLANE: "true" }), /PLANE must be on or off$/);
  assert.throws(() => parseConfig({ AUTO_QUARANTINE: "no" }), /AUTO_QUARANTINE must be true or false$/);
  assert.throws(() => parseConfig({ LOG_LEVEL: "loud" }), /LOG_LEVEL must be one of trace, debug, .*silent$/);
});

test("the error for a retired setting names its replacement", () => {
  const retired = SETTINGS_DOMAINS.flatMap(({ retired = {} }) => Object.entries(retired));
  assert.ok(retired.length > 0);
  const env = Object.fromEntries(retired.map(([name]) => [name, "1"]));
  assert.throws(
    () => parseConfig(env),
    ({ mistakes }: ConfigError) => {
      const expected = retired.map(([name, now]) => `${name} is no longer a setting: ${now}. Remove the variable`);
      assert.deepEqual(mistakes, expected);
      return true;
    },
  );
  for (const [name] of retired) {
    assert.ok(!SETTING_NAMES.includes(name), `${name} is both a setting and retired`);
    assert.ok(parseConfig({ [name]: "" }), "an empty variable is not set");
  }
});

test("each environment variable is declared in the settings of only one folder", () => {
  const names = SETTINGS_DOMAINS.flatMap(({ settings }) => Object.keys(settings));
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
});

test("records are kept forever by default, and retention must cover what other features need", () => {
  assert.deepEqual(parseConfig({}).retention, {
    historyDays: undefined,
    refusalsDays: undefined,
    exportDir: undefined,
  });
  const set = { HISTORY_DAYS: "90", REFUSALS_DAYS: "7", HISTORY_EXPORT_DIR: "/exports" };
  assert.deepEqual(parseConfig(set).retention, { historyDays: 90, refusalsDays: 7, exportDir: "/exports" });
  assert.throws(() => parseConfig({ HISTORY_DAYS: "34" }), /HISTORY_DAYS must be 35 or more/);
  assert.throws(() => parseConfig({ HISTORY_DAYS: "many" }), /HISTORY_DAYS must be a number of days/);
  assert.throws(
    () => parseConfig({ HISTORY_DAYS: "90", PAYOUT_HOLD_DAYS: "91" }),
    /HISTORY_DAYS must not be less than PAYOUT_HOLD_DAYS/,
  );
  assert.throws(() => parseConfig({ REFUSALS_DAYS: "0" }), /REFUSALS_DAYS must be 1 or more/);
  assert.throws(
    () => parseConfig({ HISTORY_EXPORT_DIR: "/exports" }),
    /HISTORY_DAYS must be set when HISTORY_EXPORT_DIR is set/,
  );
});

test("CORS_ORIGINS accepts any, none, or a list of origins in the browsers' form", () => {
  const originsOf = (CORS_ORIGINS?: string) => parseConfig({ CORS_ORIGINS }).corsOrigins;
  assert.equal(originsOf(), "any");
  assert.equal(originsOf("*"), "any");
  assert.deepEqual(originsOf("none"), []);
  assert.deepEqual(originsOf("https://app.example"), ["https://app.example"]);
  const several = ["https://app.example", "http://localhost:5173", "http://[::1]:80443", "chrome-extension://abcdef"];
  assert.throws(() => originsOf(several.join(", ")), /"http:\/\/\[::1\]:80443" is not an origin/);
  several[2] = "http://[::1]:8044";
  assert.deepEqual(originsOf(several.join(", ")), several);
  for (const wrong of [
    "app.example",
    "https://app.example/",
    "https://app.example/path",
    "https://APP.example",
    "https://app.example:443",
    "https://*.example",
    "https://a@app.example",
    "null",
    "none,https://app.example",
    "https://app.example,*",
    "https://app.example,",
    "https://app.example https://b.example",
    "moz-extension://",
  ]) {
    assert.throws(() => originsOf(wrong), /CORS_ORIGINS must be \*, none, or origins such as/, wrong);
  }
});

test("replacing a secret requires the new secret together with the previous or the next one", () => {
  const [one, two] = ["1".repeat(32), "2".repeat(32)];
  assert.equal(parseConfig({ KEY_PEPPER: two, KEY_PEPPER_OLD: one }).keyPepperOld, one);
  assert.equal(parseConfig({ KEY_PEPPER: one, KEY_PEPPER_NEXT: two }).keyPepperNext, two);
  assert.equal(parseConfig({ SESSION_SECRET: two, SESSION_SECRET_OLD: "derived" }).sessionSecretOld, "derived");
  assert.equal(parseConfig({ SESSION_SECRET_NEXT: two }).sessionSecretNext, two);
  const wrong: [Record<string, string>, RegExp][] = [
    [{ KEY_PEPPER_OLD: one }, /KEY_PEPPER must be set when KEY_PEPPER_OLD is set/],
    [{ KEY_PEPPER: one, KEY_PEPPER_OLD: one }, /KEY_PEPPER_OLD must not be the same as KEY_PEPPER/],
    [{ KEY_PEPPER: one, KEY_PEPPER_OLD: "short" }, /KEY_PEPPER_OLD must have 32 characters or more/],
    [
      { KEY_PEPPER: one, KEY_PEPPER_OLD: two, KEY_PEPPER_NEXT: "3".repeat(32) },
      /must not both be set: finish one replacement/,
    ],
    [{ SESSION_SECRET_OLD: one }, /SESSION_SECRET must be set when SESSION_SECRET_OLD is set/],
    [{ PLANE_SIGNING_SEED: `SA${"A".repeat(56)}` }, /NATS_URL must be set when PLANE_SIGNING_SEED is set/],
    [{ NATS_URL: "nats://a.test", PLANE_ACCOUNT: `A${"A".repeat(55)}` }, /PLANE_SEED must be set when NATS_URL is set/],
    [{ PLANE_SEED_OLD: `SA${"A".repeat(56)}` }, /PLANE_SEED must be set when PLANE_SEED_OLD is set/],
  ];
  for (const [env, message] of wrong) assert.throws(() => parseConfig(env), message);
});

test("a shared database requires a shared pepper", () => {
  assert.throws(() => parseConfig({ DATABASE_URL: "postgres://localhost/x" }), /KEY_PEPPER/);
  assert.ok(parseConfig({ DATABASE_URL: "postgres://localhost/x", KEY_PEPPER: "p".repeat(32) }));
});

test("NATS requires every setting that plane init writes, and the hub's certificate requires its key", () => {
  const seed = (letters: string): string => letters + "A".repeat(56);
  const nats = {
    NATS_URL: "nats://a:4222,tls://b",
    PLANE_SEED: seed("SA"),
    NATS_OPERATOR_SEED: seed("SO"),
    NATS_SYSTEM_JWT: "e30.e30.AAAA",
    NATS_SYSTEM_SEED: seed("SU"),
  };
  const { plane } = parseConfig(nats);
  assert.deepEqual(plane.nats, {
    url: nats.NATS_URL,
    operatorSeed: seed("SO"),
    system: { jwt: "e30.e30.AAAA", seed: seed("SU") },
  });
  for (const name of ["PLANE_SEED", "NATS_OPERATOR_SEED", "NATS_SYSTEM_JWT", "NATS_SYSTEM_SEED"]) {
    assert.throws(
      () => parseConfig({ ...nats, [name]: undefined }),
      new RegExp(`${name} must be set when NATS_URL is set`),
    );
    assert.throws(() => parseConfig({ ...nats, [name]: "x" }), new RegExp(name));
  }
  for (const url of ["http://a", "nats://", "a:4222", "nats://a, nats://b", "nats://user:pass@a"]) {
    assert.throws(() => parseConfig({ ...nats, NATS_URL: url }), /NATS_URL must be nats:/, url);
  }
  assert.equal(parseConfig({}).plane.nats, undefined);

  assert.throws(() => parseConfig({ PLANE_TLS_CERT: "cert.pem" }), /PLANE_TLS_CERT and PLANE_TLS_KEY/);
  assert.deepEqual(parseConfig({ PLANE_TLS_CERT: "c.pem", PLANE_TLS_KEY: "k.pem" }).plane.tls, {
    certFile: "c.pem",
    keyFile: "k.pem",
  });
  assert.equal(parseConfig({}).plane.credentialTtlMs, 3_600_000);
  assert.throws(() => parseConfig({ PLANE_CREDENTIAL_TTL_S: "1" }), /PLANE_CREDENTIAL_TTL_S must be 5 or more/);
});

test("email and OpenID require a public URL and all of their own settings", () => {
  const PUBLIC_URL = "https://gate.example";
  const mail = { SMTP_URL: "smtps://user:secret@mail.example:465", MAIL_FROM: "Tollgate <noreply@gate.example>" };
  assert.deepEqual(parseConfig({ PUBLIC_URL, ...mail }).mail, { url: mail.SMTP_URL, from: mail.MAIL_FROM });
  assert.equal(parseConfig({}).mail, undefined);
  assert.throws(() => parseConfig({ PUBLIC_URL, SMTP_URL: mail.SMTP_URL }), /SMTP_URL and MAIL_FROM/);
  assert.throws(() => parseConfig({ PUBLIC_URL, MAIL_FROM: mail.MAIL_FROM }), /SMTP_URL and MAIL_FROM/);
  assert.throws(() => parseConfig(mail), /PUBLIC_URL must be set when SMTP_URL is set/);
  assert.throws(
    () => parseConfig({ PUBLIC_URL, ...mail, SMTP_URL: "mail.example user:secret" }),
    ({ message }: Error) => message.includes("SMTP_URL must begin with") && !message.includes("secret"),
  );
  const provider = {
    id: "acme",
    name: "Acme",
    issuer: "https://id.acme.example",
    client_id: "c",
    client_secret: "s3cr3t",
  };
  const providers = (...list: object[]) =>
    parseConfig({ PUBLIC_URL, OIDC_PROVIDERS: JSON.stringify(list) }).oidcProviders;
  assert.deepEqual(providers(provider), [
    {
      id: "acme",
      name: "Acme",
      issuer: "https://id.acme.example",
      clientId: "c",
      clientSecret: "s3cr3t",
      trustEmail: false,
    },
  ]);
  assert.equal(providers({ ...provider, trust_email: true })[0]?.trustEmail, true);
  assert.equal(providers({ ...provider, issuer: "http://127.0.0.1:9000" }).length, 1);
  assert.throws(() => parseConfig({ OIDC_PROVIDERS: "[]" }), /PUBLIC_URL must be set when OIDC_PROVIDERS is set/);
  assert.throws(() => parseConfig({ PUBLIC_URL, OIDC_PROVIDERS: "{" }), /OIDC_PROVIDERS must be a JSON list/);
  for (const [wrong, pattern] of [
    [{ id: "Acme!" }, /OIDC_PROVIDERS\.0\.id/],
    [{ id: "credential" }, /OIDC_PROVIDERS\.0\.id/],
    [{ issuer: "http://id.acme.example" }, /OIDC_PROVIDERS\.0\.issuer must begin with https/],
    [{ client_secret: "" }, /OIDC_PROVIDERS\.0\.client_secret/],
    [{ clientSecret: "x" }, /OIDC_PROVIDERS\.0/],
  ] as const) {
    assert.throws(() => providers({ ...provider, ...wrong }), pattern);
  }
  assert.throws(() => providers(provider, provider), /must not contain the same id twice/);
});

test("no proxy is trusted unless TRUST_PROXY is set to a number of proxies", () => {
  assert.equal(parseConfig({}).trustedProxies, 0);
  assert.equal(parseConfig({ TRUST_PROXY: "2" }).trustedProxies, 2);
  for (const TRUST_PROXY of ["true", "-1", "1.5", "11"]) {
    assert.throws(() => parseConfig({ TRUST_PROXY }), /TRUST_PROXY/);
  }
});

test("payments require both Stripe secrets or neither", () => {
  assert.equal(parseConfig({}).payments, undefined);
  const [secretKey, webhookSecret] = ["sk_test_1", "whsec_1"];
  const webhookSecrets = [webhookSecret];
  const both = { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret };
  assert.deepEqual(parseConfig(both).payments, { secretKey, webhookSecrets, apiBase: undefined, invoices: false });
  const two = { ...both, STRIPE_WEBHOOK_SECRET: "whsec_2,whsec_1" };
  assert.deepEqual(parseConfig(two).payments?.webhookSecrets, ["whsec_2", "whsec_1"]);
  for (const wrong of ["whsec_2,", "whsec_2, whsec_1", "whsec_2,sk_1"]) {
    assert.throws(() => parseConfig({ ...both, STRIPE_WEBHOOK_SECRET: wrong }), /STRIPE_WEBHOOK_SECRET must be/);
  }
  for (const name of Object.keys(both)) {
    const together = /STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET must be set together/;
    assert.throws(() => parseConfig({ ...both, [name]: undefined }), together);
    assert.throws(() => parseConfig({ ...both, [name]: "pk_live_1" }), new RegExp(`${name} must be`));
  }
});

test("the Stripe key is sent over plain HTTP only to this machine", () => {
  const at = (STRIPE_API_BASE: string) =>
    parseConfig({ STRIPE_SECRET_KEY: "sk_test_1", STRIPE_WEBHOOK_SECRET: "whsec_1", STRIPE_API_BASE }).payments
      ?.apiBase;
  for (const good of ["https://stripe.example", "http://127.0.0.1:12111", "http://localhost:1/", "http://[::1]:1"]) {
    assert.equal(at(good), good);
  }
  const bad = [
    "http://stripe.example",
    "http://localhost.example",
    "http://127.0.0.1.example",
    "ftp://x",
    "https://x/v1",
  ];
  for (const url of bad) assert.throws(() => at(url), /STRIPE_API_BASE must be https/, url);
});

test("without DATABASE_URL, MIGRATE must be auto; DATABASE_URL must not set an application name", () => {
  const given = { DATABASE_URL: "postgres://db/tollgate", KEY_PEPPER: "p".repeat(32) };
  assert.equal(parseConfig(given).migrate, "auto");
  assert.equal(parseConfig({ ...given, MIGRATE: "check" }).migrate, "check");
  assert.throws(() => parseConfig({ MIGRATE: "check" }), /MIGRATE must be auto without DATABASE_URL/);
  assert.throws(() => parseConfig({ ...given, MIGRATE: "no" }), /MIGRATE must be auto or check/);
  const named = { ...given, DATABASE_URL: "postgres://db/tollgate?sslmode=require&application_name=mine" };
  assert.throws(() => parseConfig(named), /DATABASE_URL must not set application_name/);
});

test("traces are off by default and follow the OpenTelemetry variables, whose unsupported values are refused", () => {
  const tracingOf = (env: Record<string, string>) => parseConfig(env).tracing;
  const OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:4318";
  assert.equal(tracingOf({}), undefined);
  assert.deepEqual(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT }), { encoding: "protobuf" });
  const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector.example/v1/traces" };
  assert.deepEqual(tracingOf({ ...traces, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }), { encoding: "json" });
  const both = { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf" };
  assert.deepEqual(tracingOf({ ...traces, ...both }), { encoding: "protobuf" });
  assert.equal(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: "true" }), undefined);
  assert.equal(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: "none" }), undefined);
  for (const [name, value] of [
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_TRACES_EXPORTER", "zipkin"],
    ["OTEL_TRACES_SAMPLER", "sometimes"],
    ["OTEL_TRACES_SAMPLER_ARG", "2"],
  ] as const) {
    assert.throws(() => tracingOf({ [name]: value }), new RegExp(`${name} must`));
  }
});

test("the API's certificate requires both files and a matching public URL", () => {
  const tls = { TLS_CERT: "c.pem", TLS_KEY: "k.pem" };
  assert.equal(parseConfig({}).tls, undefined);
  assert.deepEqual(parseConfig(tls).tls, { certFile: "c.pem", keyFile: "k.pem" });
  assert.equal(parseConfig({ ...tls, PUBLIC_URL: "https://a.test" }).publicUrl, "https://a.test");
  for (const alone of ["TLS_CERT", "TLS_KEY"]) {
    assert.throws(() => parseConfig({ [alone]: "x.pem" }), /TLS_CERT and TLS_KEY must be set together/);
  }
  const clear = { ...tls, PUBLIC_URL: "http://a.test" };
  assert.throws(() => parseConfig(clear), /PUBLIC_URL must begin with https:\/\/ when TLS_CERT is set/);
});

test("a secret can be read from a file, and errors name the setting and the file", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-secrets-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const pepper = file("pepper", `${"p".repeat(43)}\n`);
  assert.equal(parseConfig({ KEY_PEPPER_FILE: pepper }).keyPepper, "p".repeat(43));
  const url = file("url", "postgres://a.test/books");
  assert.equal(parseConfig({ KEY_PEPPER_FILE: pepper, DATABASE_URL_FILE: url }).databaseUrl, "postgres://a.test/books");
  assert.equal(findDatabaseUrl({ DATABASE_URL_FILE: url }), "postgres://a.test/books");
  assert.equal(findDatabaseUrl({ DATABASE_URL: "postgres://b.test/books" }), "postgres://b.test/books");
  assert.throws(() => findDatabaseUrl({ DATABASE_URL: "" }), /DATABASE_URL must be set to the database/);
  assert.throws(
    () => findDatabaseUrl({ DATABASE_URL_FILE: join(folder, "none") }),
    /DATABASE_URL_FILE: .*cannot be read/,
  );
  for (const [env, words] of [
    [{ KEY_PEPPER_FILE: join(folder, "none") }, /KEY_PEPPER_FILE: .*none cannot be read \(ENOENT\)/],
    [{ KEY_PEPPER_FILE: file("empty", "\n") }, /KEY_PEPPER_FILE: .*empty is empty/],
    [{ KEY_PEPPER_FILE: pepper, KEY_PEPPER: "x" }, /KEY_PEPPER and KEY_PEPPER_FILE must not both be set/],
    [{ DATABASE_URL_FILE: pepper, KEY_PEPPER_FILE: pepper }, /DATABASE_URL must begin with postgres:/],
  ] as const) {
    assert.throws(() => parseConfig(env), words);
  }
});
