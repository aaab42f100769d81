/** What signing up, in and out is sent and answers with. */
import { z } from "zod";
import { Account, Identity } from "./accounts.ts";
import * as fields from "./sign-in-fields.ts";

const SignInMethods = z.strictObject({
  password: z.boolean(),
  password_reset: z.boolean().describe("Whether a link to set a new password can be mailed."),
  email_verification: z.boolean().describe("Whether a new e-mail address must be confirmed before its first sign-in."),
  providers: z.array(z.strictObject({ id: z.string(), name: z.string() })).describe("OpenID providers on offer."),
});

const SignInStep = z.strictObject({
  status: z
    .enum(["signed_in", "two_factor_required", "verification_required"])
    .describe(
      "`two_factor_required`: the code of the second factor comes next. `verification_required`: the address has to be confirmed, by the link that was mailed to it.",
    ),
});

const statusIs = <Status extends string>(status: Status) => z.strictObject({ status: z.literal(status) });
const SignedOut = statusIs("signed_out");
const LetterSent = statusIs("sent_if_known").describe("The same whether or not anybody has that address.");
const PasswordChanged = statusIs("password_changed");
const EmailVerified = statusIs("email_verified");
const TwoFactorEnabled = statusIs("enabled");
const TwoFactorDisabled = statusIs("disabled");
const CurrentSession = z.strictObject({
  identity: Identity.nullable().describe("null: nobody is signed in."),
  accounts: z.array(Account).describe("What they own or were invited to, the oldest first."),
});
const OpenIdStart = z.strictObject({ url: z.string().describe("Where to send the browser.") });
const BackupCodes = z.array(z.string()).describe("Each is good for one sign-in without the app. Shown once.");
const TwoFactorSetup = z.strictObject({
  status: z.literal("to_confirm"),
  uri: z.string().describe("`otpauth://…`, for a QR code."),
  secret: z.string().describe("The same for typing into an app."),
  backup_codes: BackupCodes,
});
const NewBackupCodes = z.strictObject({ backup_codes: BackupCodes });

export const answers = {
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

const REMEMBER = "Whether the session outlives the browser.";
const PRESENT = "The present password.";
const CHOSEN = "The new password.";

export const requests = {
  SignUpRequest: { fields: fields.SignUpFields, words: { password: CHOSEN, remember_me: REMEMBER } },
  SignInRequest: { fields: fields.SignInFields, words: { remember_me: REMEMBER } },
  SignInCodeRequest: { fields: fields.CodeFields, words: { code: "Of the app, or a backup code." } },
  OpenIdSignInRequest: { fields: fields.ProviderFields, words: { provider: "The id of one that is on offer." } },
  EmailRequest: { fields: fields.EmailFields, words: {} },
  ResetPasswordRequest: { fields: fields.ResetFields, words: { token: "Of the mailed link.", password: CHOSEN } },
  VerifyEmailRequest: { fields: fields.VerifyFields, words: { token: "Of the mailed link." } },
  ChangePasswordRequest: { fields: fields.ChangeFields, words: { password: PRESENT, new_password: CHOSEN } },
  PasswordRequest: { fields: fields.PasswordFields, words: { password: PRESENT } },
  TwoFactorCodeRequest: { fields: fields.AppCodeFields, words: { code: "The six digits that the app shows." } },
};
