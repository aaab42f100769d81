/** Schemas of requests and answers for signing up, in and out. */
import { z } from "zod";
import { Account, Identity } from "./accounts.ts";
import * as fields from "./sign-in-fields.ts";

const SignInMethods = z.strictObject({
  password: z.boolean(),
  password_reset: z.boolean().describe("Whether password reset by email is available."),
  email_verification: z.boolean().describe("Whether a new email address must be confirmed before the first sign-in."),
  providers: z.array(z.strictObject({ id: z.string(), name: z.string() })).describe("The configured OpenID providers."),
});

const SignInStep = z.strictObject({
  status: z
    .enum(["signed_in", "two_factor_required", "verification_required"])
    .describe(
      "`two_factor_required`: send the code of the second factor next. `verification_required`: the email address must be confirmed with the link that was emailed to it.",
    ),
});

const statusIs = <Status extends string>(status: Status) => z.strictObject({ status: z.literal(status) });
const SignedOut = statusIs("signed_out");
const LetterSent = statusIs("sent_if_known").describe("The same response whether or not the address is known.");
const PasswordChanged = statusIs("password_changed");
const EmailVerified = statusIs("email_verified");
const TwoFactorEnabled = statusIs("enabled");
const TwoFactorDisabled = statusIs("disabled");
const CurrentSession = z.strictObject({
  identity: Identity.nullable().describe("null if nobody is signed in."),
  accounts: z.array(Account).describe("Accounts that the person owns or was invited to, oldest first."),
});
const OpenIdStart = z.strictObject({ url: z.string().describe("Redirect the browser to this URL.") });
const BackupCodes = z.array(z.string()).describe("Each code works for one sign-in without the app. Shown only once.");
const TwoFactorSetup = z.strictObject({
  status: z.literal("to_confirm"),
  uri: z.string().describe("`otpauth://…`, for a QR code."),
  secret: z.string().describe("The same secret, for manual entry."),
  backup_codes: BackupCodes,
});
const NewBackupCodes = z.strictObject({ backup_codes: BackupCodes });

export const signInResponseSchemas = {
  SignInMethods,
  SignInStep,
  SignedOut,
  LetterSent,
  PasswordChanged,
  EmailVerified,
  TwoFactorEnabled,
  TwoFactorDisabled,
  CurrentSession,
  OpenIdStart,
  TwoFactorSetup,
  NewBackupCodes,
};

const REMEMBER = "Whether the session outlasts the browser session.";
const PRESENT = "The current password.";
const CHOSEN = "The new password.";

export const signInRequestSchemas = {
  SignUpRequest: { fields: fields.SignUpFields, words: { password: CHOSEN, remember_me: REMEMBER } },
  SignInRequest: { fields: fields.SignInFields, words: { remember_me: REMEMBER } },
  SignInCodeRequest: {
    fields: fields.SecondFactorCodeFields,
    words: { code: "A code from the authenticator app, or a backup code." },
  },
  OpenIdSignInRequest: { fields: fields.SignInProviderFields, words: { provider: "The ID of a configured provider." } },
  EmailRequest: { fields: fields.EmailFields, words: {} },
  ResetPasswordRequest: {
    fields: fields.PasswordResetFields,
    words: { token: "The token from the emailed link.", password: CHOSEN },
  },
  VerifyEmailRequest: { fields: fields.EmailVerificationFields, words: { token: "The token from the emailed link." } },
  ChangePasswordRequest: { fields: fields.PasswordChangeFields, words: { password: PRESENT, new_password: CHOSEN } },
  PasswordRequest: { fields: fields.PasswordConfirmationFields, words: { password: PRESENT } },
  TwoFactorCodeRequest: {
    fields: fields.AuthenticatorCodeFields,
    words: { code: "The six-digit code from the authenticator app." },
  },
};
