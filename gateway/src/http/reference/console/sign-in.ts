/** Signing up, in and out: what people send before they are known, and what they set up once they are. */
import { type RefusalReason, SignInRefusal } from "../../../accounts/refusals.ts";
import type { Fault } from "../../../faults.ts";
import { faultOf } from "../../console/auth-faults.ts";
import * as fields from "../../console/auth-fields.ts";
import type { ConsoleSpec } from "./access.ts";
import { sampleAccount, sampleIdentity } from "./accounts.ts";
import { answers } from "./sign-in-schemas.ts";

export { answers, requests } from "./sign-in-schemas.ts";

const AUTH = "/console/api/auth";
const TAG = "Sign-in";

const refusals = (...reasons: RefusalReason[]): Fault[] =>
  [...reasons, "too_many_attempts" as const].map((reason) => faultOf(new SignInRefusal(reason)));

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery staple";

const open: ConsoleSpec[] = [
  {
    id: "getSignInMethods",
    at: `GET ${AUTH}/methods`,
    tag: TAG,
    summary: "Read how people can sign in",
    guard: "anyone",
    success: {
      description: "What this platform offers.",
      json: answers.SignInMethods,
      example: {
        password: true,
        password_reset: true,
        email_verification: true,
        providers: [{ id: "acme", name: "Acme" }],
      },
    },
  },
  {
    id: "signUp",
    at: `POST ${AUTH}/sign-up/email`,
    tag: TAG,
    summary: "Sign up",
    guard: "anyone",
    body: { fields: fields.SignUpFields, example: { email: EMAIL, password: PASSWORD, name: "Ada" } },
    success: {
      description: "How far they came.",
      json: answers.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("email_taken"),
  },
  {
    id: "signIn",
    at: `POST ${AUTH}/sign-in/email`,
    tag: TAG,
    summary: "Sign in",
    guard: "anyone",
    body: { fields: fields.SignInFields, example: { email: EMAIL, password: PASSWORD } },
    success: {
      description: "How far they came. The session is in the cookie alone.",
      json: answers.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("wrong_credentials", "email_not_verified"),
  },
  {
    id: "signInWithCode",
    at: `POST ${AUTH}/sign-in/code`,
    tag: TAG,
    summary: "Sign in: the second step",
    description: "After a password or a provider that was answered with `two_factor_required`.",
    guard: "anyone",
    body: { fields: fields.CodeFields, example: { code: "123456" } },
    success: {
      description: "They are in.",
      json: answers.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("no_challenge", "wrong_code"),
  },
  {
    id: "signOut",
    at: `POST ${AUTH}/sign-out`,
    tag: TAG,
    summary: "Sign out",
    guard: "anyone",
    success: { description: "Also where nobody was signed in.", json: answers.SignedOut, headers: ["set-cookie"] },
  },
  {
    id: "getSession",
    at: `GET ${AUTH}/get-session`,
    tag: TAG,
    summary: "Read who is signed in, and stay so",
    description: "Makes the session last again.",
    guard: "anyone",
    success: {
      description: "Who is signed in, if anybody is.",
      json: answers.CurrentSession,
      example: { identity: sampleIdentity, accounts: [sampleAccount] },
      headers: ["set-cookie"],
    },
  },
  {
    id: "signInWithOpenId",
    at: `POST ${AUTH}/sign-in/openid`,
    tag: TAG,
    summary: "Sign in by an OpenID provider",
    guard: "anyone",
    body: { fields: fields.ProviderFields, example: { provider: "acme" } },
    success: { description: "Where to send the browser.", json: answers.OpenIdStart, headers: ["set-cookie"] },
    faults: refusals("unknown_provider", "provider_away"),
  },
  {
    id: "finishOpenId",
    at: `GET ${AUTH}/callback/{provider}`,
    tag: TAG,
    summary: "Come back from an OpenID provider",
    description:
      "For browsers. The provider adds `code` and `state`, or `error`. What became of it is in `sign_in` of the address that the browser is sent to: nothing when they are in, else `two_factor_required`, `account_not_linked`, `email_not_verified`, `provider_refused`, `expired` or `failed`.",
    guard: "anyone",
    path: { provider: "The provider's id." },
    success: { status: 302, description: "On to the console.", headers: ["location", "set-cookie"] },
    faults: refusals("unknown_provider"),
  },
  {
    id: "requestPasswordReset",
    at: `POST ${AUTH}/request-password-reset`,
    tag: TAG,
    summary: "Have a link mailed that sets a new password",
    guard: "anyone",
    body: { fields: fields.EmailFields, example: { email: EMAIL } },
    success: { description: "It is on its way, if anybody has that address.", json: answers.LetterSent },
    faults: refusals("mail_off"),
  },
  {
    id: "resetPassword",
    at: `POST ${AUTH}/reset-password`,
    tag: TAG,
    summary: "Set a new password by a mailed link",
    description: "Ends every session of the identity.",
    guard: "anyone",
    body: { fields: fields.ResetFields, example: { token: "the link's token", password: PASSWORD } },
    success: { description: "The new one is good.", json: answers.PasswordChanged },
    faults: refusals("bad_token"),
  },
  {
    id: "requestEmailVerification",
    at: `POST ${AUTH}/request-email-verification`,
    tag: TAG,
    summary: "Have a link mailed that confirms an e-mail address",
    guard: "anyone",
    body: { fields: fields.EmailFields, example: { email: EMAIL } },
    success: { description: "It is on its way, if anybody has that address.", json: answers.LetterSent },
    faults: refusals("mail_off"),
  },
  {
    id: "verifyEmail",
    at: `POST ${AUTH}/verify-email`,
    tag: TAG,
    summary: "Confirm an e-mail address",
    guard: "anyone",
    body: { fields: fields.VerifyFields, example: { token: "the link's token" } },
    success: { description: "It is confirmed.", json: answers.EmailVerified },
    faults: refusals("bad_token"),
  },
];

const own: ConsoleSpec[] = [
  {
    id: "changePassword",
    at: `POST ${AUTH}/change-password`,
    tag: TAG,
    summary: "Change one's password",
    description: "Ends every other session.",
    guard: "signedIn",
    body: { fields: fields.ChangeFields, example: { password: PASSWORD, new_password: "another long one" } },
    success: { description: "The new one is good.", json: answers.PasswordChanged, headers: ["set-cookie"] },
    faults: refusals("wrong_password"),
  },
  {
    id: "enableTwoFactor",
    at: `POST ${AUTH}/two-factor/enable`,
    tag: TAG,
    summary: "Set up a second factor",
    description: "It is asked for at sign-in once a first code has confirmed it.",
    guard: "signedIn",
    body: { fields: fields.PasswordFields, example: { password: PASSWORD } },
    success: { description: "The secret, shown once.", json: answers.TwoFactorSetup },
    faults: refusals("two_factor_on", "wrong_password"),
  },
  {
    id: "confirmTwoFactor",
    at: `POST ${AUTH}/two-factor/confirm`,
    tag: TAG,
    summary: "Turn the second factor on",
    guard: "signedIn",
    body: { fields: fields.AppCodeFields, example: { code: "123456" } },
    success: { description: "From now on it is asked for.", json: answers.TwoFactorEnabled, headers: ["set-cookie"] },
    faults: refusals("two_factor_off", "wrong_code"),
  },
  {
    id: "replaceBackupCodes",
    at: `POST ${AUTH}/two-factor/backup-codes`,
    tag: TAG,
    summary: "Get new backup codes",
    description: "The old ones are worthless from then on.",
    guard: "signedIn",
    body: { fields: fields.PasswordFields, example: { password: PASSWORD } },
    success: { description: "The codes, shown once.", json: answers.NewBackupCodes },
    faults: refusals("two_factor_off", "wrong_password"),
  },
  {
    id: "disableTwoFactor",
    at: `POST ${AUTH}/two-factor/disable`,
    tag: TAG,
    summary: "Turn the second factor off",
    guard: "signedIn",
    body: { fields: fields.PasswordFields, example: { password: PASSWORD } },
    success: {
      description: "A password is enough again. Also where there was no second factor.",
      json: answers.TwoFactorDisabled,
      headers: ["set-cookie"],
    },
    faults: refusals("wrong_password"),
  },
];

export const endpoints: ConsoleSpec[] = [...open, ...own];
