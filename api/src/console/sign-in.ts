/** Signing up, in and out: what people send before they are known, and what they set up once they are. */
import { noSuchPath, type Refusal, refusal, wrongField } from "../faults.ts";
import { routes } from "../route.ts";
import { sampleAccount, sampleIdentity } from "./accounts.ts";
import { OPENID_REFUSALS } from "./openid.ts";
import * as fields from "./sign-in-fields.ts";
import { answers } from "./sign-in-schemas.ts";

export { answers, requests } from "./sign-in-schemas.ts";

const AUTH = "/console/api/auth";
/** How long clients wait on their own; a longer wait is told to the person. */
export const PATIENCE_S = 60;

export const tooManyAttempts = (waitS: number): string => `Too many attempts. Try again in ${waitS} seconds.`;

/** Why somebody is not let in, in the words and codes of the envelope. */
export const SIGN_IN_REFUSALS = {
  wrong_credentials: refusal("not_authenticated", "The e-mail address or password is wrong."),
  email_not_verified: refusal("email_not_verified"),
  email_taken: wrongField("email", "email must be one that is not in use yet"),
  no_challenge: refusal("not_authenticated", "Sign in with your password again, then give the code."),
  wrong_code: wrongField("code", "code must be the one your app shows now, or a backup code, and unused"),
  wrong_password: wrongField("password", "password must be your present password"),
  bad_token: wrongField("token", "token must be one that was mailed to you, unused and not over an hour old"),
  two_factor_on: wrongField(null, "The second factor is on already. Turn it off to set up another."),
  two_factor_off: wrongField(null, "The second factor is not set up."),
  not_signed_in: refusal("not_authenticated"),
  unknown_provider: wrongField("provider", "provider must be one that auth/methods lists"),
  provider_away: refusal("sign_in_provider_unavailable"),
  mail_off: noSuchPath("This platform sends no mail. Ask its operator."),
  too_many_attempts: refusal("rate_limit_requests", tooManyAttempts(PATIENCE_S)),
} as const;

const refusals = (...reasons: (keyof typeof SIGN_IN_REFUSALS)[]): Refusal[] =>
  [...reasons, "too_many_attempts" as const].map((reason) => SIGN_IN_REFUSALS[reason]);

const LISTED = Object.entries(OPENID_REFUSALS)
  .map(([outcome, why]) => `\`${outcome}\` (${why})`)
  .join(", ");

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery staple";

const open = routes({
  getSignInMethods: {
    at: `GET ${AUTH}/methods`,
    summary: "Read how people can sign in",
    guard: "anyone",
    answer: {
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
  signUp: {
    at: `POST ${AUTH}/sign-up/email`,
    summary: "Sign up",
    guard: "anyone",
    body: { fields: fields.SignUpFields, example: { email: EMAIL, password: PASSWORD, name: "Ada" } },
    answer: {
      description: "How far they came.",
      json: answers.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("email_taken"),
  },
  signIn: {
    at: `POST ${AUTH}/sign-in/email`,
    summary: "Sign in",
    guard: "anyone",
    body: { fields: fields.SignInFields, example: { email: EMAIL, password: PASSWORD } },
    answer: {
      description: "How far they came. The session is in the cookie alone.",
      json: answers.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("wrong_credentials", "email_not_verified"),
  },
  signInWithCode: {
    at: `POST ${AUTH}/sign-in/code`,
    summary: "Sign in: the second step",
    description: "After a password or a provider that was answered with `two_factor_required`.",
    guard: "anyone",
    body: { fields: fields.CodeFields, example: { code: "123456" } },
    answer: {
      description: "They are in.",
      json: answers.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("no_challenge", "wrong_code"),
  },
  signOut: {
    at: `POST ${AUTH}/sign-out`,
    summary: "Sign out",
    guard: "anyone",
    answer: { description: "Also where nobody was signed in.", json: answers.SignedOut, headers: ["set-cookie"] },
  },
  getSession: {
    at: `GET ${AUTH}/get-session`,
    summary: "Read who is signed in, and stay so",
    description: "Makes the session last again.",
    guard: "anyone",
    answer: {
      description: "Who is signed in, if anybody is.",
      json: answers.CurrentSession,
      example: { identity: sampleIdentity, accounts: [sampleAccount] },
      headers: ["set-cookie"],
    },
  },
  signInWithOpenId: {
    at: `POST ${AUTH}/sign-in/openid`,
    summary: "Sign in by an OpenID provider",
    guard: "anyone",
    body: { fields: fields.ProviderFields, example: { provider: "acme" } },
    answer: { description: "Where to send the browser.", json: answers.OpenIdStart, headers: ["set-cookie"] },
    faults: refusals("unknown_provider", "provider_away"),
  },
  finishOpenId: {
    at: `GET ${AUTH}/callback/{provider}`,
    summary: "Come back from an OpenID provider",
    description: `For browsers. The provider adds \`code\` and \`state\`, or \`error\`. What became of it is in \`sign_in\` of the address that the browser is sent to: nothing when they are in, \`two_factor_required\` when a code is asked for, else why not: ${LISTED}.`,
    guard: "anyone",
    path: { provider: "The provider's id." },
    answer: { status: 302, description: "On to the console.", headers: ["location", "set-cookie"] },
  },
  requestPasswordReset: {
    at: `POST ${AUTH}/request-password-reset`,
    summary: "Have a link mailed that sets a new password",
    guard: "anyone",
    body: { fields: fields.EmailFields, example: { email: EMAIL } },
    answer: { description: "It is on its way, if anybody has that address.", json: answers.LetterSent },
    faults: refusals("mail_off"),
  },
  resetPassword: {
    at: `POST ${AUTH}/reset-password`,
    summary: "Set a new password by a mailed link",
    description: "Ends every session of the identity.",
    guard: "anyone",
    body: { fields: fields.ResetFields, example: { token: "the link's token", password: PASSWORD } },
    answer: { description: "The new one is good.", json: answers.PasswordChanged },
    faults: refusals("bad_token"),
  },
  requestEmailVerification: {
    at: `POST ${AUTH}/request-email-verification`,
    summary: "Have a link mailed that confirms an e-mail address",
    guard: "anyone",
    body: { fields: fields.EmailFields, example: { email: EMAIL } },
    answer: { description: "It is on its way, if anybody has that address.", json: answers.LetterSent },
    faults: refusals("mail_off"),
  },
  verifyEmail: {
    at: `POST ${AUTH}/verify-email`,
    summary: "Confirm an e-mail address",
    guard: "anyone",
    body: { fields: fields.VerifyFields, example: { token: "the link's token" } },
    answer: { description: "It is confirmed.", json: answers.EmailVerified },
    faults: refusals("bad_token"),
  },
});

const own = routes({
  changePassword: {
    at: `POST ${AUTH}/change-password`,
    summary: "Change one's password",
    description: "Ends every other session.",
    guard: "signedIn",
    body: { fields: fields.ChangeFields, example: { password: PASSWORD, new_password: "another long one" } },
    answer: { description: "The new one is good.", json: answers.PasswordChanged, headers: ["set-cookie"] },
    faults: refusals("wrong_password"),
  },
  enableTwoFactor: {
    at: `POST ${AUTH}/two-factor/enable`,
    summary: "Set up a second factor",
    description: "It is asked for at sign-in once a first code has confirmed it.",
    guard: "signedIn",
    body: { fields: fields.PasswordFields, example: { password: PASSWORD } },
    answer: { description: "The secret, shown once.", json: answers.TwoFactorSetup },
    faults: refusals("two_factor_on", "wrong_password"),
  },
  confirmTwoFactor: {
    at: `POST ${AUTH}/two-factor/confirm`,
    summary: "Turn the second factor on",
    guard: "signedIn",
    body: { fields: fields.AppCodeFields, example: { code: "123456" } },
    answer: { description: "From now on it is asked for.", json: answers.TwoFactorEnabled, headers: ["set-cookie"] },
    faults: refusals("two_factor_off", "wrong_code"),
  },
  replaceBackupCodes: {
    at: `POST ${AUTH}/two-factor/backup-codes`,
    summary: "Get new backup codes",
    description: "The old ones are worthless from then on.",
    guard: "signedIn",
    body: { fields: fields.PasswordFields, example: { password: PASSWORD } },
    answer: { description: "The codes, shown once.", json: answers.NewBackupCodes },
    faults: refusals("two_factor_off", "wrong_password"),
  },
  disableTwoFactor: {
    at: `POST ${AUTH}/two-factor/disable`,
    summary: "Turn the second factor off",
    guard: "signedIn",
    body: { fields: fields.PasswordFields, example: { password: PASSWORD } },
    answer: {
      description: "A password is enough again. Also where there was no second factor.",
      json: answers.TwoFactorDisabled,
      headers: ["set-cookie"],
    },
    faults: refusals("wrong_password"),
  },
});

export const signInRoutes = { ...open, ...own };
