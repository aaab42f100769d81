/** The settings of sign-in and email. */
import { z } from "zod";
import {
  declareSettings,
  findRotationMistakes,
  findUnpairedVariable,
  parsedSetting,
  textSetting,
} from "../base/settings.ts";
import type { OidcProvider as OidcProviderConfig } from "./oidc.ts";

const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/;

/** One OpenID provider of the setting OIDC_PROVIDERS. */
const OidcProvider = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, "must have 1 to 32 lowercase letters, digits or dashes")
    .refine((id) => id !== "credential", 'must not be "credential", which is reserved'),
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
  .transform((json, context) => {
    try {
      return JSON.parse(json) as unknown;
    } catch {
      context.addIssue({ code: "custom", message: "must be a JSON list" });
      return z.NEVER;
    }
  })
  .pipe(z.array(OidcProvider))
  .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, "must not contain the same id twice");

interface AccountsConfig {
  /** The secret that signs session cookies. Undefined: it is derived from the pepper. */
  sessionSecret: string | undefined;
  /**
   * The previous secret, while the secret is being replaced. `derived`: the one that is derived from the pepper
   * (`KEY_PEPPER`).
   */
  sessionSecretOld: string | undefined;
  /** The next secret, while the secret is being replaced. */
  sessionSecretNext: string | undefined;
  /** The mail server. Undefined: no emails are sent. */
  mail: { url: string; from: string } | undefined;
  /** The OpenID providers with which people can sign in. Empty: there are none. */
  oidcProviders: OidcProviderConfig[];
}

const long = { matches: /^.{32}/s, rule: "have 32 characters or more", secret: true };

export const accountSettings = declareSettings({
  title: "Sign-in and email",
  note: `Without \`SMTP_URL\` the gateway sends no email: there are no password resets, and new email addresses need no confirmation. With
\`SMTP_URL\`, people confirm a new address before their first sign-in.`,
  settings: {
    SESSION_SECRET: textSetting({
      ...long,
      without: "derived from `KEY_PEPPER`",
      help: "Secret that signs session cookies and encrypts second factors, the same on all gateways.",
    }),
    SESSION_SECRET_OLD: textSetting({
      ...long,
      ...{ matches: /^derived$|^.{32}/s, rule: 'have 32 characters or more, or be the word "derived"' },
      help: "The previous `SESSION_SECRET`, still accepted while you replace it; set it to `derived` if `SESSION_SECRET` was not set before.",
      see: "[Secrets](secrets.md)",
    }),
    SESSION_SECRET_NEXT: textSetting({
      ...long,
      help: "The secret that will replace `SESSION_SECRET`; gateways already accept it.",
      see: "[Secrets](secrets.md)",
    }),
    OIDC_PROVIDERS: parsedSetting(OidcProviders, {
      rule: "be a JSON list",
      secret: true,
      help: "OpenID Connect providers to sign in with; needs `PUBLIC_URL`.",
      see: "[Sign-in](sign-in.md)",
    }),
    SMTP_URL: textSetting({
      matches: /^smtps?:\/\/\S+$/,
      rule: "begin with smtp:// or smtps://",
      secret: true,
      help: "Mail server, such as `smtp://user:password@host:587` (TLS if the server offers it) or `smtps://…:465`; needs `PUBLIC_URL`.",
    }),
    MAIL_FROM: textSetting({
      matches: /^[^\s@]+@[^\s@]+$|<[^\s@]+@[^\s@]+>$/,
      rule: "be an email address",
      help: "Sender of the emails, required when `SMTP_URL` is set.",
    }),
  },
  mistakes: (variables) => [
    ...findRotationMistakes("SESSION_SECRET", variables, { nextAlone: true }),
    ...findUnpairedVariable(variables, "SMTP_URL", "MAIL_FROM"),
  ],
  config: (e): AccountsConfig => ({
    sessionSecret: e.SESSION_SECRET,
    sessionSecretOld: e.SESSION_SECRET_OLD,
    sessionSecretNext: e.SESSION_SECRET_NEXT,
    mail: e.SMTP_URL !== undefined && e.MAIL_FROM !== undefined ? { url: e.SMTP_URL, from: e.MAIL_FROM } : undefined,
    oidcProviders: (e.OIDC_PROVIDERS ?? []).map(
      ({ client_id: clientId, client_secret: clientSecret, trust_email: trustEmail, ...rest }) => ({
        ...rest,
        clientId,
        clientSecret,
        trustEmail,
      }),
    ),
  }),
});
