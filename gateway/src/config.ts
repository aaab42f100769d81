/** The environment, parsed once. Every mistake is reported, not only the first. Nothing else reads process.env. */
import { join, resolve } from "node:path";
import { z } from "zod";
import type { CertificateFiles } from "./base/certificate.ts";
import { SECRET_FILES, withSecretFiles } from "./base/secret-files.ts";

const MEBIBYTE = 1024 * 1024;

const Port = z.coerce
  .number("must be a port number")
  .int("must be a port number")
  .min(0, "must be 0 or more")
  .max(65535, "must be 65535 or less");

/** One body has to fit. */
const Mebibytes = z.coerce
  .number("must be a number of MiB")
  .int("must be a whole number of MiB")
  .min(10, "must be 10 or more")
  .max(65_536, "must be 65536 or less");

/** A wait. */
const Seconds = z.coerce
  .number("must be a number of seconds")
  .int("must be a whole number of seconds")
  .min(0, "must be 0 or more")
  .max(3_600, "must be 3600 or less");

const LongSecret = z.string().min(32, "must have 32 characters or more");

const Seed = (letter: string, whose: string) =>
  z.string().regex(new RegExp(`^S${letter}[A-Z2-7]{56}$`), `must be an nkey ${whose} seed (S${letter}…)`);
const PLANE_ADDRESS = /^(nats|tls):\/\/[^\s,@/]+(,(nats|tls):\/\/[^\s,@/]+)*$/;

const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/;

/** One OpenID provider, as written in OIDC_PROVIDERS. */
const OidcProvider = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, "must have 1 to 32 small letters, digits or dashes")
    .refine((id) => id !== "credential", "must not be credential"),
  name: z.string().min(1).max(80),
  issuer: z
    .url({ protocol: /^https?$/ })
    .refine((url) => url.startsWith("https://") || LOOPBACK.test(url), "must begin with https://"),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  trust_email: z.boolean().default(false),
});

const OidcProviders = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: "custom", message: "must be a JSON list" });
      return z.NEVER;
    }
  })
  .pipe(z.array(OidcProvider))
  .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, "must not name an id twice");

/** As a browser sends it: a scheme and a host, and a port that is not the scheme's own. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || text.includes("*")) return false;
  // Of schemes that are not the web's, such as those of extensions, no origin is told.
  if (url.protocol !== "http:" && url.protocol !== "https:") return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(text);
  return url.origin === text;
}

const CorsOrigins = z.string().transform((text, context): "any" | string[] => {
  if (text === "*") return "any";
  if (text === "none") return [];
  const origins = text.split(",").map((origin) => origin.trim());
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (wrong === undefined) return origins;
  const message = `must be *, none, or origins such as https://app.example separated by commas, and "${wrong}" is no origin`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const WebAddress = z.url({ protocol: /^https?$/, error: "must begin with http:// or https://" });

/** Of OpenTelemetry's own variables those are checked here that its packages would pass over in silence; they read the rest. */
const OtlpProtocol = z.enum(
  ["http/protobuf", "http/json"],
  "must be http/protobuf or http/json: traces are not sent by gRPC",
);
const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** The console's list reaches 30 days back and is put in order by cost over 31; a month goes only whole. */
const HISTORY_DAYS_MIN = 35;

const Environment = z.object({
  HOST: z.string().min(1).default("127.0.0.1"),
  PORT: Port.default(8080),
  INTERNAL_HOST: z.string().min(1).default("127.0.0.1"),
  INTERNAL_PORT: Port.default(9090),
  TLS_CERT: z.string().min(1).optional(),
  TLS_KEY: z.string().min(1).optional(),
  PUBLIC_URL: z.url({ protocol: /^https?$/, error: "must begin with http:// or https://" }).optional(),
  DATA_DIR: z.string().min(1).default("./data"),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "must begin with postgres:// or postgresql://")
    // By the names of their connections gateways know of each other, and of which version they are.
    .refine((url) => !/[?&]application_name=/.test(url), "must not set application_name: Tollgate does")
    .optional(),
  DATABASE_POOL_MAX: z.coerce.number("must be a number").int().min(2, "must be 2 or more").max(100).default(10),
  DATABASE_POOL_MIN: z.coerce.number("must be a number").int().min(0, "must be 0 or more").max(100).default(6),
  MIGRATE: z.enum(["auto", "check"], "must be auto or check").default("auto"),
  VALKEY_URL: z
    .string()
    .regex(
      /^(valkeys?|rediss?|unix):\/\/|^\//,
      "must begin with valkey://, redis:// (or the same with an s for TLS), or be a socket path",
    )
    .optional(),
  LIMITS_WHEN_AWAY: z.enum(["refuse", "local"], "must be refuse or local").default("refuse"),
  KEY_PEPPER: LongSecret.optional(),
  KEY_PEPPER_OLD: LongSecret.optional(),
  KEY_PEPPER_NEXT: LongSecret.optional(),
  SESSION_SECRET: LongSecret.optional(),
  SESSION_SECRET_OLD: LongSecret.or(z.literal("derived")).optional(),
  SESSION_SECRET_NEXT: LongSecret.optional(),
  PLANE: z.enum(["on", "off"], "must be on or off").default("on"),
  PLANE_HOST: z.string().min(1).optional(),
  PLANE_PORT: Port.default(4222),
  PLANE_PUBLIC_URL: z
    .string()
    .regex(/^(nats|tls):\/\//, "must begin with nats:// or tls://")
    .optional(),
  PLANE_SEED: Seed("A", "account").optional(),
  PLANE_SEED_OLD: Seed("A", "account").optional(),
  PLANE_SIGNING_SEED: z
    .string()
    .regex(/^SA[A-Z2-7]{56}(,SA[A-Z2-7]{56})*$/, "must be an nkey account seed (SA…), or several separated by commas")
    .optional(),
  PLANE_ACCOUNT: z
    .string()
    .regex(/^A[A-Z2-7]{55}$/, "must be the public key of an account (A…)")
    .optional(),
  PLANE_TLS_CERT: z.string().min(1).optional(),
  PLANE_TLS_KEY: z.string().min(1).optional(),
  PLANE_CREDENTIAL_TTL_S: z.coerce
    .number("must be a number")
    .int()
    .min(5, "must be 5 or more")
    .max(86_400, "must be 86400 or less")
    .default(3_600),
  NATS_URL: z
    .string()
    .regex(PLANE_ADDRESS, "must be nats://HOST:PORT or tls://HOST:PORT, several separated by commas")
    .optional(),
  NATS_OPERATOR_SEED: Seed("O", "operator").optional(),
  NATS_SYSTEM_JWT: z
    .string()
    .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, "must be the JWT of a user of the system account")
    .optional(),
  NATS_SYSTEM_SEED: Seed("U", "user").optional(),
  RECEIPT_SEED: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, "must be 32 bytes in base64url")
    .optional(),
  CATALOGUE_FILE: z.string().min(1).optional(),
  CORS_ORIGINS: CorsOrigins.default("any"),
  EMBEDDINGS_BASE64_COMPAT: z.enum(["true", "false"], "must be true or false").default("false"),
  DISPATCH_DEADLINE_MS: z.coerce
    .number("must be a number")
    .int()
    .min(100, "must be 100 or more")
    .max(600_000)
    .default(10_000),
  HOLD_LEASE_S: z.coerce
    .number("must be a number of seconds")
    .int("must be a whole number of seconds")
    .min(3, "must be 3 or more")
    .max(3_600, "must be 3600 or less")
    .default(60),
  JOB_MAX_S: z.coerce
    .number("must be a number of seconds")
    .int("must be a whole number of seconds")
    .min(1, "must be 1 or more")
    .max(86_400, "must be 86400 or less")
    .default(900),
  SPOOL_DIR: z.string().min(1).optional(),
  DRAIN_DELAY_S: Seconds.default(5),
  DRAIN_GRACE_S: Seconds.default(30),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\/\S+$/, "must begin with smtp:// or smtps://")
    .optional(),
  MAIL_FROM: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$|<[^\s@]+@[^\s@]+>$/, "must be an e-mail address")
    .optional(),
  OIDC_PROVIDERS: OidcProviders.optional(),
  TRUST_PROXY: z.coerce
    .number("must be a number of proxies")
    .int("must be a number of proxies")
    .min(0, "must be 0 or more")
    .max(10, "must be 10 or less")
    .default(0),
  AUTO_QUARANTINE: z.enum(["true", "false"], "must be true or false").default("true"),
  PROBATION_ANSWERS: z.coerce
    .number("must be a number of answers")
    .int("must be a whole number")
    .min(0, "must be 0 or more")
    .max(10_000, "must be 10000 or less")
    .default(20),
  HOST_SANCTION: z.enum(["true", "false"], "must be true or false").default("true"),
  CANARIES_FILE: z.string().min(1).optional(),
  BODY_BUDGET_MB: Mebibytes.default(256),
  BODY_BUDGET_ACCOUNT_MB: Mebibytes.default(64),
  STRIPE_SECRET_KEY: z
    .string()
    .regex(/^(sk|rk)_(test|live)_\w+$/, "must be a Stripe secret key (sk_live_… or sk_test_…)")
    .optional(),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(
      /^whsec_[^\s,]+(,whsec_[^\s,]+)*$/,
      "must be the signing secret of a Stripe webhook endpoint (whsec_…), or several separated by commas",
    )
    .optional(),
  STRIPE_API_BASE: z
    .string()
    .regex(
      /^(https:\/\/[^/\s]+|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)\/?$/,
      "must be https://HOST, or http:// on this machine",
    )
    .optional(),
  STRIPE_INVOICES: z.enum(["true", "false"], "must be true or false").default("false"),
  PAYOUT_HOLD_DAYS: z.coerce
    .number("must be a number of days")
    .int("must be a number of days")
    .min(0, "must be 0 or more")
    .max(365, "must be 365 or less")
    .default(7),
  HISTORY_DAYS: z.coerce
    .number("must be a number of days")
    .int("must be a number of days")
    .min(HISTORY_DAYS_MIN, `must be ${HISTORY_DAYS_MIN} or more`)
    .max(36_500, "must be 36500 or less")
    .optional(),
  HISTORY_EXPORT_DIR: z.string().min(1).optional(),
  REFUSALS_DAYS: z.coerce
    .number("must be a number of days")
    .int("must be a number of days")
    .min(1, "must be 1 or more")
    .max(36_500, "must be 36500 or less")
    .optional(),
  STATUS_PAGE: z.enum(["on", "off"], "must be on or off").default("on"),
  STATUS_SAMPLE_S: z.coerce
    .number("must be a number of seconds")
    .int("must be a whole number of seconds")
    .min(1, "must be 1 or more")
    .max(600, "must be 600 or less")
    .refine((seconds) => 3_600 % seconds === 0, "must divide an hour evenly")
    .default(60),
  BOOKS_PROVE: z.enum(["on", "off"], "must be on or off").default("on"),
  OTEL_EXPORTER_OTLP_ENDPOINT: WebAddress.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: WebAddress.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: OtlpProtocol.optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: OtlpProtocol.optional(),
  OTEL_TRACES_EXPORTER: z.enum(["otlp", "none"], "must be otlp or none").default("otlp"),
  OTEL_SDK_DISABLED: z
    .string()
    .regex(/^(true|false)$/i, "must be true or false")
    .default("false"),
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS, `must be one of ${SAMPLERS.join(", ")}`).optional(),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number("must be a number from 0 to 1")
    .min(0, "must be 0 or more")
    .max(1, "must be 1 or less")
    .optional(),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
});

/** The names of every variable that is read here. */
export const SETTINGS: string[] = [...Object.keys(Environment.shape), ...SECRET_FILES];

export interface Config {
  host: string;
  port: number;
  /** Where health and metrics are told. Loopback unless somebody else is to read them. */
  internalHost: string;
  internalPort: number;
  /** The files of the certificate that API and console are served under. Undefined: over plain HTTP. */
  tls: CertificateFiles | undefined;
  /** How browsers reach the gateway. Undefined: by whatever name they used. */
  publicUrl: string | undefined;
  dataDir: string;
  /** Undefined: the private PostgreSQL under the data directory. */
  databaseUrl: string | undefined;
  databasePoolMax: number;
  /** So many connections stay open while nothing is asked, and are made ready for the console's questions. */
  databasePoolMin: number;
  /** At the start: `auto` brings the database up to date; `check` only looks whether it can be worked with. */
  migrate: "auto" | "check";
  /** Where limits are counted. Undefined: in memory, for one gateway. */
  valkeyUrl: string | undefined;
  /** While the limits' store is away: nothing is admitted, or each gateway counts alone with its share. */
  limitsWhenAway: "refuse" | "local";
  /** Undefined: kept in the data directory. */
  keyPepper: string | undefined;
  /** While it is being replaced: the one before it, or the one that comes after it. */
  keyPepperOld: string | undefined;
  keyPepperNext: string | undefined;
  /** Signs session cookies. Undefined: drawn from the pepper. */
  sessionSecret: string | undefined;
  /** `derived`: the one that is drawn from the pepper. */
  sessionSecretOld: string | undefined;
  sessionSecretNext: string | undefined;
  plane: PlaneConfig;
  /** How letters are sent. Undefined: none are. */
  mail: { url: string; from: string } | undefined;
  /** Where else people may sign in. */
  oidcProviders: OidcProviderConfig[];
  /** How many proxies before the gateway add to X-Forwarded-For. */
  trustedProxies: number;
  /** Signs usage receipts. Undefined: kept in the data directory. */
  receiptSeed: string | undefined;
  catalogueFile: string | undefined;
  /** Whose pages may call the public API; none: an empty list. */
  corsOrigins: "any" | string[];
  /** Answer base64 to the client versions that corrupt float embeddings. */
  embeddingsBase64Compat: boolean;
  dispatchDeadlineMs: number;
  /** How long the credit of a request stays held after its gateway died. */
  holdLeaseMs: number;
  /** Where settlements wait that the store cannot take now. */
  spoolDir: string;
  /** A gateway that is asked to stop is not ready but serves for the first time, then lets what is under way end for the second. */
  drain: { delayMs: number; graceMs: number };
  /** A job that lasts longer than this after its acceptance ends as a stall. */
  jobMsMax: number;
  /** How much memory large bodies may take: all of them, and those of one account. */
  bodyBudget: { gatewayBytesMax: number; payerBytesMax: number };
  /** Bar nodes that fail, cheat or pretend. Off: what was seen is logged. */
  autoQuarantine: boolean;
  /** How far nodes are trusted from the start: fleet/rules.ts has the words. */
  nodeRules: { probationAnswers: number; hostSanction: boolean };
  /** The operator's own canaries, which nobody else has read. Undefined: there are none. */
  canariesFile: string | undefined;
  /** Undefined: credits cannot be bought. */
  payments: PaymentsConfig | undefined;
  /** How long earnings are held back before they are paid out. */
  payoutHoldDays: number;
  /** How long records of requests are kept, those of refusals apart, and where months go before. Undefined days: for ever. */
  retention: { historyDays: number | undefined; refusalsDays: number | undefined; exportDir: string | undefined };
  /** `isPublic`: anybody may read it, at /status. */
  status: { isPublic: boolean; sampleEveryMs: number };
  /** Prove the books once a day without being asked. */
  provesBooks: boolean;
  /** How traces are encoded on their way to the collector. Undefined: there are none. */
  tracing: { encoding: "json" | "protobuf" } | undefined;
  logLevel: string;
}

interface OidcProviderConfig {
  id: string;
  name: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  trustEmail: boolean;
}

interface PaymentsConfig {
  secretKey: string;
  /** Events are signed with one of these: two while it is being replaced. */
  webhookSecrets: string[];
  /** Undefined: Stripe's own address. */
  apiBase: string | undefined;
  /** Whether Stripe makes an invoice of every checkout. */
  invoices: boolean;
}

interface PlaneConfig {
  /** This gateway has none: no node works for it. */
  absent: boolean;
  /** Where nodes are told to connect, if not at the plane's own address. */
  publicUrl: string | undefined;
  /** Signs credentials. Undefined: kept in the data directory. */
  seed: string | undefined;
  /** The one before it: what it signed is taken as long as it lives. */
  seedOld: string | undefined;
  /** On NATS servers: the account's public key, and keys that sign for it in the place of its own. */
  account: string | undefined;
  signingSeeds: string[];
  credentialTtlMs: number;
  /** Where the embedded hub listens, and the files of its certificate. */
  host: string;
  port: number;
  tls: CertificateFiles | undefined;
  /** Servers to use instead of the embedded hub. */
  nats: { url: string; operatorSeed: string; system: { jwt: string; seed: string } } | undefined;
}

export class ConfigError extends Error {
  override name = "ConfigError";
  readonly mistakes: string[];
  constructor(mistakes: string[]) {
    super(`Configuration: ${mistakes.join("; ")}`);
    this.mistakes = mistakes;
  }
}

/** For a command that needs nothing but the database: DATABASE_URL, or what its file says. */
export function databaseUrlOf({
  DATABASE_URL = "",
  DATABASE_URL_FILE = "",
}: Record<string, string | undefined>): string {
  const { variables, mistakes } = withSecretFiles({
    ...(DATABASE_URL !== "" && { DATABASE_URL }),
    ...(DATABASE_URL_FILE !== "" && { DATABASE_URL_FILE }),
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  if (variables.DATABASE_URL === undefined) throw new ConfigError(["DATABASE_URL must name the database to migrate"]);
  return variables.DATABASE_URL;
}

export function parseConfig(env: Record<string, string | undefined>): Config {
  // An empty variable is one that is not set, as container files write it.
  const set = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "");
  const { variables, mistakes } = withSecretFiles(Object.fromEntries(set));
  const result = Environment.safeParse(variables);
  if (!result.success) mistakes.push(...result.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`));
  if (variables.DATABASE_URL !== undefined && variables.KEY_PEPPER === undefined) {
    mistakes.push(
      "KEY_PEPPER must be set beside DATABASE_URL: several gateways have to share it, and it must not be lost",
    );
  }
  if (variables.MIGRATE === "check" && variables.DATABASE_URL === undefined) {
    mistakes.push("MIGRATE must be auto without DATABASE_URL: nobody else brings a private database up to date");
  }
  if ((variables.STRIPE_SECRET_KEY === undefined) !== (variables.STRIPE_WEBHOOK_SECRET === undefined)) {
    mistakes.push("STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET must be set together");
  }
  if (result.success && result.data.BODY_BUDGET_ACCOUNT_MB > result.data.BODY_BUDGET_MB) {
    mistakes.push("BODY_BUDGET_ACCOUNT_MB must not be more than BODY_BUDGET_MB");
  }
  if (result.success && (result.data.HISTORY_DAYS ?? Number.POSITIVE_INFINITY) < result.data.PAYOUT_HOLD_DAYS) {
    mistakes.push("HISTORY_DAYS must not be less than PAYOUT_HOLD_DAYS: earnings that wait have their requests");
  }
  if (variables.HISTORY_EXPORT_DIR !== undefined && variables.HISTORY_DAYS === undefined) {
    mistakes.push("HISTORY_DAYS must be set beside HISTORY_EXPORT_DIR: without it no month is ever exported");
  }
  mistakes.push(
    ...rotationMistakes(variables),
    ...planeMistakes(variables),
    ...certificateMistakes(variables),
    ...signInMistakes(variables),
  );
  if (!result.success || mistakes.length > 0) throw new ConfigError(mistakes);
  const e = result.data;
  return {
    host: e.HOST,
    port: e.PORT,
    internalHost: e.INTERNAL_HOST,
    internalPort: e.INTERNAL_PORT,
    tls: certificateFiles(e.TLS_CERT, e.TLS_KEY),
    publicUrl: e.PUBLIC_URL,
    dataDir: resolve(e.DATA_DIR),
    databaseUrl: e.DATABASE_URL,
    databasePoolMax: e.DATABASE_POOL_MAX,
    databasePoolMin: e.DATABASE_POOL_MIN,
    migrate: e.MIGRATE,
    valkeyUrl: e.VALKEY_URL,
    limitsWhenAway: e.LIMITS_WHEN_AWAY,
    keyPepper: e.KEY_PEPPER,
    keyPepperOld: e.KEY_PEPPER_OLD,
    keyPepperNext: e.KEY_PEPPER_NEXT,
    sessionSecret: e.SESSION_SECRET,
    sessionSecretOld: e.SESSION_SECRET_OLD,
    sessionSecretNext: e.SESSION_SECRET_NEXT,
    plane: planeConfig(e),
    mail: e.SMTP_URL !== undefined && e.MAIL_FROM !== undefined ? { url: e.SMTP_URL, from: e.MAIL_FROM } : undefined,
    oidcProviders: (e.OIDC_PROVIDERS ?? []).map(
      ({ client_id: clientId, client_secret: clientSecret, trust_email: trustEmail, ...rest }) => ({
        ...rest,
        clientId,
        clientSecret,
        trustEmail,
      }),
    ),
    trustedProxies: e.TRUST_PROXY,
    receiptSeed: e.RECEIPT_SEED,
    catalogueFile: e.CATALOGUE_FILE,
    corsOrigins: e.CORS_ORIGINS,
    embeddingsBase64Compat: e.EMBEDDINGS_BASE64_COMPAT === "true",
    dispatchDeadlineMs: e.DISPATCH_DEADLINE_MS,
    holdLeaseMs: e.HOLD_LEASE_S * 1000,
    spoolDir: resolve(e.SPOOL_DIR ?? join(e.DATA_DIR, "spool")),
    drain: { delayMs: e.DRAIN_DELAY_S * 1000, graceMs: e.DRAIN_GRACE_S * 1000 },
    jobMsMax: e.JOB_MAX_S * 1000,
    bodyBudget: {
      gatewayBytesMax: e.BODY_BUDGET_MB * MEBIBYTE,
      payerBytesMax: e.BODY_BUDGET_ACCOUNT_MB * MEBIBYTE,
    },
    autoQuarantine: e.AUTO_QUARANTINE === "true",
    nodeRules: { probationAnswers: e.PROBATION_ANSWERS, hostSanction: e.HOST_SANCTION === "true" },
    canariesFile: e.CANARIES_FILE,
    payments: paymentsConfig(e),
    payoutHoldDays: e.PAYOUT_HOLD_DAYS,
    retention: {
      historyDays: e.HISTORY_DAYS,
      refusalsDays: e.REFUSALS_DAYS,
      exportDir: e.HISTORY_EXPORT_DIR === undefined ? undefined : resolve(e.HISTORY_EXPORT_DIR),
    },
    status: { isPublic: e.STATUS_PAGE === "on", sampleEveryMs: e.STATUS_SAMPLE_S * 1000 },
    provesBooks: e.BOOKS_PROVE === "on",
    tracing: tracingConfig(e),
    logLevel: e.LOG_LEVEL,
  };
}

function signInMistakes(variables: Record<string, string | undefined>): string[] {
  const mistakes: string[] = [];
  if ((variables.SMTP_URL === undefined) !== (variables.MAIL_FROM === undefined)) {
    mistakes.push("SMTP_URL and MAIL_FROM must be set together");
  }
  // Links and redirects lead there; a request's own Host would let its sender choose.
  for (const name of ["SMTP_URL", "OIDC_PROVIDERS"]) {
    if (variables[name] !== undefined && variables.PUBLIC_URL === undefined) {
      mistakes.push(`PUBLIC_URL must be set beside ${name}`);
    }
  }
  return mistakes;
}

/** Secrets that may be replaced while gateways serve: the one before, or the one after, stands beside the present one. */
function rotationMistakes(variables: Record<string, string | undefined>): string[] {
  const mistakes: string[] = [];
  for (const name of ["KEY_PEPPER", "SESSION_SECRET", "PLANE_SEED"]) {
    const { [name]: current, [`${name}_OLD`]: old, [`${name}_NEXT`]: next } = variables;
    for (const [other, value] of Object.entries({ [`${name}_OLD`]: old, [`${name}_NEXT`]: next })) {
      if (value === undefined) continue;
      // A session's secret may come after the one that is drawn from the pepper.
      const standsAlone = other === "SESSION_SECRET_NEXT";
      if (current === undefined && !standsAlone) mistakes.push(`${name} must be set beside ${other}`);
      if (value === current) mistakes.push(`${other} must not be the same as ${name}`);
    }
    if (old !== undefined && next !== undefined) {
      mistakes.push(`${name}_OLD and ${name}_NEXT must not both be set: one replacement after the other`);
    }
  }
  if (variables.PLANE_SEED_OLD !== undefined && variables.NATS_URL !== undefined) {
    mistakes.push("PLANE_SEED_OLD must not be set beside NATS_URL: the servers know the account by its key");
  }
  return mistakes;
}

/** What a plane on NATS cannot do without; `tollgate admin plane init` writes all of it. */
const BESIDE_NATS_URL = ["PLANE_SEED", "NATS_OPERATOR_SEED", "NATS_SYSTEM_JWT", "NATS_SYSTEM_SEED"] as const;

function planeMistakes(variables: Record<string, string | undefined>): string[] {
  const { NATS_URL, PLANE_SEED, PLANE_SIGNING_SEED, PLANE_ACCOUNT } = variables;
  if (NATS_URL === undefined) {
    return PLANE_SIGNING_SEED === undefined
      ? []
      : ["PLANE_SIGNING_SEED is for NATS servers: NATS_URL must be set beside it"];
  }
  const isSigned = PLANE_SIGNING_SEED !== undefined && PLANE_ACCOUNT !== undefined;
  const missing = BESIDE_NATS_URL.filter(
    (name) => variables[name] === undefined && !(name === "PLANE_SEED" && isSigned),
  );
  const mistakes = missing.map((name) => `${name} must be set beside NATS_URL (tollgate admin plane init)`);
  if (PLANE_SEED !== undefined && PLANE_ACCOUNT !== undefined) {
    mistakes.push("PLANE_SEED and PLANE_ACCOUNT must not both be set: the second stands in the place of the first");
  }
  return mistakes;
}

function certificateMistakes(variables: Record<string, string | undefined>): string[] {
  const mistakes = ["TLS", "PLANE_TLS"]
    .filter((name) => (variables[`${name}_CERT`] === undefined) !== (variables[`${name}_KEY`] === undefined))
    .map((name) => `${name}_CERT and ${name}_KEY must be set together`);
  // Cookies and links follow it, and nothing would answer them.
  if (variables.TLS_CERT !== undefined && variables.PUBLIC_URL?.startsWith("http:")) {
    mistakes.push("PUBLIC_URL must begin with https:// beside TLS_CERT");
  }
  return mistakes;
}

const certificateFiles = (certFile: string | undefined, keyFile: string | undefined): CertificateFiles | undefined =>
  certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined;

function planeConfig(e: z.infer<typeof Environment>): PlaneConfig {
  const { NATS_URL: url, NATS_OPERATOR_SEED: operatorSeed, NATS_SYSTEM_JWT: jwt, NATS_SYSTEM_SEED: seed } = e;
  const isNats = url !== undefined && operatorSeed !== undefined && jwt !== undefined && seed !== undefined;
  return {
    absent: e.PLANE === "off",
    publicUrl: e.PLANE_PUBLIC_URL,
    seed: e.PLANE_SEED,
    seedOld: e.PLANE_SEED_OLD,
    account: e.PLANE_ACCOUNT,
    signingSeeds: e.PLANE_SIGNING_SEED?.split(",") ?? [],
    credentialTtlMs: e.PLANE_CREDENTIAL_TTL_S * 1000,
    host: e.PLANE_HOST ?? e.HOST,
    port: e.PLANE_PORT,
    tls: certificateFiles(e.PLANE_TLS_CERT, e.PLANE_TLS_KEY),
    nats: isNats ? { url, operatorSeed, system: { jwt, seed } } : undefined,
  };
}

function tracingConfig(e: z.infer<typeof Environment>): Config["tracing"] {
  const endpoint = e.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? e.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOff = e.OTEL_TRACES_EXPORTER === "none" || e.OTEL_SDK_DISABLED.toLowerCase() === "true";
  if (endpoint === undefined || isOff) return undefined;
  const protocol = e.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? e.OTEL_EXPORTER_OTLP_PROTOCOL;
  return { encoding: protocol === "http/json" ? "json" : "protobuf" };
}

function paymentsConfig(e: z.infer<typeof Environment>): PaymentsConfig | undefined {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecrets, STRIPE_API_BASE: apiBase } = e;
  if (secretKey === undefined || webhookSecrets === undefined) return undefined;
  return { secretKey, webhookSecrets: webhookSecrets.split(","), apiBase, invoices: e.STRIPE_INVOICES === "true" };
}
