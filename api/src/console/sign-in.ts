/** Routes for signing up, in and out, and for passwords and the second factor. */
import { brokenRuleError, invalidFieldError, type Refusal, refusal, unknownPathError } from "../faults.ts";
import { declareRoutes } from "../route-declaration.ts";
import { sampleAccount, sampleIdentity } from "./accounts.ts";
import { OPENID_REFUSALS } from "./openid-refusals.ts";
import * as fields from "./sign-in-fields.ts";
import { signInResponseSchemas } from "./sign-in-schemas.ts";

export { signInRequestSchemas, signInResponseSchemas } from "./sign-in-schemas.ts";

const AUTH = "/console/api/auth";
/** Clients wait and retry by themselves if the wait is at most this long. Longer waits are shown to the person. */
export const CLIENT_AUTO_RETRY_MAX_S = 60;

export const describeAttemptLimit = (waitS: number): string => `Too many attempts. Try again in ${waitS} seconds.`;

/** The reasons for which a sign-in is refused, with their codes and messages. */
export const SIGN_IN_REFUSALS = {
  wrong_credentials: refusal("not_authenticated", "The email address or password is wrong."),
  email_not_verified: refusal("email_not_verified"),
  email_taken: brokenRuleError("email", "is already in use"),
  no_challenge: refusal("not_authenticated", "Sign in with your password again, then enter the code."),
  wrong_code: brokenRuleError("code", "must be the current code of your authenticator app or an unused backup code"),
  wrong_password: brokenRuleError("password", "must be your current password"),
  bad_token: brokenRuleError("token", "must be an unused token from an email that was sent within the last hour"),
  two_factor_on: invalidFieldError(
    null,
    "Two-factor authentication is already on. Turn it off before you set it up again.",
  ),
  two_factor_off: invalidFieldError(null, "Two-factor authentication is not set up."),
  not_signed_in: refusal("not_authenticated"),
  unknown_provider: brokenRuleError("provider", "must be a provider that GET /console/api/auth/methods lists"),
  provider_away: refusal("sign_in_provider_unavailable"),
  mail_off: unknownPathError("This platform cannot send email. Ask its operator."),
  too_many_attempts: refusal("rate_limit_requests", describeAttemptLimit(CLIENT_AUTO_RETRY_MAX_S)),
} as const;

const refusals = (...reasons: (keyof typeof SIGN_IN_REFUSALS)[]): Refusal[] =>
  [...reasons, "too_many_attempts" as const].map((reason) => SIGN_IN_REFUSALS[reason]);

const LISTED = Object.entries(OPENID_REFUSALS)
  .map(([outcome, why]) => `\`${outcome}\` (${why})`)
  .join(", ");

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery staple";

const open = declareRoutes({
  getSignInMethods: {
    at: `GET ${AUTH}/methods`,
    summary: "List sign-in methods",
    guard: "anyone",
    answer: {
      description: "The available sign-in methods.",
      json: signInResponseSchemas.SignInMethods,
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
      description: "The next sign-in step.",
      json: signInResponseSchemas.SignInStep,
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
      description: "The next sign-in step. The session is only in the cookie.",
      json: signInResponseSchemas.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("wrong_credentials", "email_not_verified"),
  },
  signInWithCode: {
    at: `POST ${AUTH}/sign-in/code`,
    summary: "Sign in: second factor",
    description: "After a sign-in that returned `two_factor_required`.",
    guard: "anyone",
    body: { fields: fields.SecondFactorCodeFields, example: { code: "123456" } },
    answer: {
      description: "Signed in.",
      json: signInResponseSchemas.SignInStep,
      example: { status: "signed_in" },
      headers: ["set-cookie"],
    },
    faults: refusals("no_challenge", "wrong_code"),
  },
  signOut: {
    at: `POST ${AUTH}/sign-out`,
    summary: "Sign out",
    guard: "anyone",
    answer: {
      description: "Also succeeds if nobody was signed in. Ends the session of the cookie, or of a script's token.",
      json: signInResponseSchemas.SignedOut,
      headers: ["set-cookie"],
    },
  },
  getSession: {
    at: `GET ${AUTH}/get-session`,
    summary: "Get the current session and extend it",
    description: "Extends the session.",
    guard: "anyone",
    answer: {
      description: "The signed-in person, if any.",
      json: signInResponseSchemas.CurrentSession,
      example: { identity: sampleIdentity, accounts: [sampleAccount] },
      headers: ["set-cookie"],
    },
  },
  signInWithOpenId: {
    at: `POST ${AUTH}/sign-in/openid`,
    summary: "Start a sign-in with an OpenID provider",
    guard: "anyone",
    body: { fields: fields.SignInProviderFields, example: { provider: "acme" } },
    answer: { description: "The provider's URL.", json: signInResponseSchemas.OpenIdStart, headers: ["set-cookie"] },
    faults: refusals("unknown_provider", "provider_away"),
  },
  finishOpenId: {
    at: `GET ${AUTH}/callback/{provider}`,
    summary: "Return from an OpenID provider",
    description: `For browsers. The provider adds \`code\` and \`state\`, or \`error\`. The browser is redirected to the console with the result in the query parameter \`sign_in\`: absent if signed in, \`two_factor_required\` if the second factor is needed, else the reason: ${LISTED}.`,
    guard: "anyone",
    path: { provider: "The provider ID." },
    answer: { status: 302, description: "Redirects to the console.", headers: ["location", "set-cookie"] },
  },
  requestPasswordReset: {
    at: `POST ${AUTH}/request-password-reset`,
    summary: "Request a password reset email",
    guard: "anyone",
    body: { fields: fields.EmailFields, example: { email: EMAIL } },
    answer: { description: "The email is sent if the address is known.", json: signInResponseSchemas.LetterSent },
    faults: refusals("mail_off"),
  },
  resetPassword: {
    at: `POST ${AUTH}/reset-password`,
    summary: "Set a new password with an emailed link",
    description: "Ends all sessions of this person.",
    guard: "anyone",
    body: { fields: fields.PasswordResetFields, example: { token: "the link's token", password: PASSWORD } },
    answer: { description: "The password is changed.", json: signInResponseSchemas.PasswordChanged },
    faults: refusals("bad_token"),
  },
  requestEmailVerification: {
    at: `POST ${AUTH}/request-email-verification`,
    summary: "Request a confirmation email",
    guard: "anyone",
    body: { fields: fields.EmailFields, example: { email: EMAIL } },
    answer: { description: "The email is sent if the address is known.", json: signInResponseSchemas.LetterSent },
    faults: refusals("mail_off"),
  },
  verifyEmail: {
    at: `POST ${AUTH}/verify-email`,
    summary: "Confirm an email address",
    guard: "anyone",
    body: { fields: fields.EmailVerificationFields, example: { token: "the link's token" } },
    answer: { description: "The address is confirmed.", json: signInResponseSchemas.EmailVerified },
    faults: refusals("bad_token"),
  },
});

const own = declareRoutes({
  changePassword: {
    at: `POST ${AUTH}/change-password`,
    summary: "Change your password",
    description: "Ends all other sessions.",
    guard: "signedIn",
    body: { fields: fields.PasswordChangeFields, example: { password: PASSWORD, new_password: "another long one" } },
    answer: {
      description: "The password is changed.",
      json: signInResponseSchemas.PasswordChanged,
      headers: ["set-cookie"],
    },
    faults: refusals("wrong_password"),
  },
  enableTwoFactor: {
    at: `POST ${AUTH}/two-factor/enable`,
    summary: "Set up two-factor authentication",
    description: "The second factor is required at sign-in after the first code confirms it.",
    guard: "signedIn",
    body: { fields: fields.PasswordConfirmationFields, example: { password: PASSWORD } },
    answer: { description: "The secret, shown only once.", json: signInResponseSchemas.TwoFactorSetup },
    faults: refusals("two_factor_on", "wrong_password"),
  },
  confirmTwoFactor: {
    at: `POST ${AUTH}/two-factor/confirm`,
    summary: "Turn on two-factor authentication",
    guard: "signedIn",
    body: { fields: fields.AuthenticatorCodeFields, example: { code: "123456" } },
    answer: {
      description: "The second factor is required from now on.",
      json: signInResponseSchemas.TwoFactorEnabled,
      headers: ["set-cookie"],
    },
    faults: refusals("two_factor_off", "wrong_code"),
  },
  replaceBackupCodes: {
    at: `POST ${AUTH}/two-factor/backup-codes`,
    summary: "Get new backup codes",
    description: "The old codes stop working.",
    guard: "signedIn",
    body: { fields: fields.PasswordConfirmationFields, example: { password: PASSWORD } },
    answer: { description: "The codes, shown only once.", json: signInResponseSchemas.NewBackupCodes },
    faults: refusals("two_factor_off", "wrong_password"),
  },
  disableTwoFactor: {
    at: `POST ${AUTH}/two-factor/disable`,
    summary: "Turn off two-factor authentication",
    guard: "signedIn",
    body: { fields: fields.PasswordConfirmationFields, example: { password: PASSWORD } },
    answer: {
      description: "Sign-in only needs the password again. Also succeeds if two-factor authentication was off.",
      json: signInResponseSchemas.TwoFactorDisabled,
      headers: ["set-cookie"],
    },
    faults: refusals("wrong_password"),
  },
});

export const signInRoutes = { ...open, ...own };
