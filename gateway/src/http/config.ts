/** The settings of the HTTP servers. */
import { z } from "zod";
import type { CertificateFiles } from "../base/certificate.ts";
import {
  declareSettings,
  findUnpairedVariable,
  numberSetting,
  parsedSetting,
  portSetting,
  textSetting,
  webAddressSetting,
} from "../base/settings.ts";

const MEBIBYTE = 1024 * 1024;
/** The largest request body. The memory for bodies must be at least this, so that one such body fits. */
const BODY_MB_MAX = 10;

/** Whether this is an origin as browsers send it: a scheme, a host, and a port other than the scheme's default. */
function isOrigin(origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null || origin.includes("*")) return false;
  // URL has no origin for other schemes, such as those of browser extensions.
  if (url.protocol !== "http:" && url.protocol !== "https:") return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(origin);
  return url.origin === origin;
}

const ORIGINS_RULE = "be *, none, or origins such as https://app.example separated by commas";
const CorsOrigins = z.string().transform((origins, context): "any" | string[] => {
  if (origins === "*") return "any";
  if (origins === "none") return [];
  const list = origins.split(",").map((origin) => origin.trim());
  const wrong = list.find((origin) => !isOrigin(origin));
  if (wrong === undefined) return list;
  context.addIssue({ code: "custom", message: `must ${ORIGINS_RULE}, and "${wrong}" is not an origin` });
  return z.NEVER;
});

interface HttpConfig {
  host: string;
  port: number;
  /** The host name or address for health and metrics; loopback by default. */
  internalHost: string;
  internalPort: number;
  /** The TLS certificate files for the API and the console. Undefined: plain HTTP. */
  tls: CertificateFiles | undefined;
  /** The public URL. Undefined: the host name of each request is used. */
  publicUrl: string | undefined;
  /** The number of trusted proxies, each of which appends to X-Forwarded-For. */
  trustedProxies: number;
  /** The origins whose pages may call the public API. An empty list allows none. */
  corsOrigins: "any" | string[];
  /** The memory for large bodies, in total and per account. */
  bodyBudget: { gatewayBytesMax: number; payerBytesMax: number };
}

export const httpSettings = declareSettings({
  title: "HTTP",
  note: `The internal port needs no key, so keep it off the public network. Prometheus and health probes on other machines or in other
containers need \`INTERNAL_HOST=0.0.0.0\` and a private network.
Without \`PUBLIC_URL\`, \`/\` and the examples in \`/docs\` show the address that the request was sent to
(headers \`Host\` and, behind a trusted proxy, \`X-Forwarded-Proto\`).
\`CORS_ORIGINS\` applies to \`/v1\` only, which needs a key and never uses cookies. Other
sites can never call the console or the node API.
A request that does not fit in \`BODY_BUDGET_MB\` gets 503 \`no_capacity\` and can be retried. One account gets at most a quarter of
this budget, but at least ${BODY_MB_MAX} MiB.
The gateway frees the memory of a body as soon as it no longer needs the body.`,
  settings: {
    HOST: textSetting({ default: "127.0.0.1", help: "IP address that the API and the console listen on." }),
    PORT: portSetting({ default: 8080, help: "Port of the API and the console." }),
    INTERNAL_HOST: textSetting({
      default: "127.0.0.1",
      help: "IP address that `/healthz`, `/readyz` and `/metrics` listen on, independent of `HOST`.",
    }),
    INTERNAL_PORT: portSetting({ default: 9090, help: "Port of `/healthz`, `/readyz` and `/metrics`." }),
    TLS_CERT: textSetting({
      help: "PEM file with the certificate and its chain; if set, the API and the console accept only TLS.",
      see: "[TLS](high-availability.md#tls)",
    }),
    TLS_KEY: textSetting({ help: "PEM file with the key of `TLS_CERT`." }),
    PUBLIC_URL: webAddressSetting({
      help: "URL by which browsers reach the gateway; `https://…` makes the session cookie `Secure`.",
    }),
    TRUST_PROXY: numberSetting({
      ...{ default: 0, unit: "proxies", min: 0, max: 10 },
      help: "Number of proxies in front of the gateway that add to `X-Forwarded-For`; the limit on sign-in attempts uses the client address in this header.",
    }),
    CORS_ORIGINS: parsedSetting(
      CorsOrigins,
      { default: "any", rule: ORIGINS_RULE, help: "Origins whose pages may call `/v1` from a browser." },
      "*",
    ),
    BODY_BUDGET_MB: numberSetting({
      ...{ default: 256, unit: "MiB", min: BODY_MB_MAX, max: 65_536 },
      help: "Maximum total memory for request bodies larger than 64 KiB.",
    }),
  },
  retired: {
    BODY_BUDGET_ACCOUNT_MB: `one account's request bodies may use a quarter of BODY_BUDGET_MB, but at least ${BODY_MB_MAX} MiB`,
  },
  mistakes: (variables) => {
    const mistakes = findUnpairedVariable(variables, "TLS_CERT", "TLS_KEY");
    // Cookies and links use the public URL. An https URL works only if something serves TLS.
    if (variables.TLS_CERT !== undefined && variables.PUBLIC_URL?.startsWith("http:")) {
      mistakes.push("PUBLIC_URL must begin with https:// when TLS_CERT is set");
    }
    return mistakes;
  },
  config: (e): HttpConfig => ({
    host: e.HOST,
    port: e.PORT,
    internalHost: e.INTERNAL_HOST,
    internalPort: e.INTERNAL_PORT,
    tls: e.TLS_CERT !== undefined && e.TLS_KEY !== undefined ? { certFile: e.TLS_CERT, keyFile: e.TLS_KEY } : undefined,
    publicUrl: e.PUBLIC_URL,
    trustedProxies: e.TRUST_PROXY,
    corsOrigins: e.CORS_ORIGINS,
    bodyBudget: {
      gatewayBytesMax: e.BODY_BUDGET_MB * MEBIBYTE,
      payerBytesMax: Math.max(BODY_MB_MAX, e.BODY_BUDGET_MB / 4) * MEBIBYTE,
    },
  }),
});
