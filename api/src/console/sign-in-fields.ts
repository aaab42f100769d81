/** Request fields of the sign-in routes. */
import { z } from "zod";
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from "../api-limits.ts";
import { isPlainText, PLAIN_TEXT_RULE } from "../plain-text.ts";

const Email = z.email("must be an email address").max(254, "must have at most 254 characters");
/** An existing password. It may be older than today's rules for new passwords. */
const Password = z
  .string("must be a string")
  .max(PASSWORD_CHARS_MAX, `must have at most ${PASSWORD_CHARS_MAX} characters`);
const NewPassword = Password.min(PASSWORD_CHARS_MIN, `must have at least ${PASSWORD_CHARS_MIN} characters`).refine(
  (password) => password.trim() !== "",
  "must not consist of white space only",
);
const Token = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(2_000, "must have at most 2000 characters")
  .refine(isPlainText, PLAIN_TEXT_RULE);
const Remember = z.boolean("must be true or false").default(true);

export const DisplayName = z
  .string("must be a string")
  .trim()
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, "must not be empty or contain control characters or unpaired surrogates")
  .max(200, "must have at most 200 characters");

export const SignInFields = z.object({ email: Email, password: Password, remember_me: Remember });
export const SignUpFields = z.object({ email: Email, password: NewPassword, name: DisplayName, remember_me: Remember });
export const SecondFactorCodeFields = z.object({
  code: z
    .string("must be a string")
    .regex(/^[0-9A-Za-z-]{6,16}$/, "must be a code from your authenticator app or a backup code"),
});
export const AuthenticatorCodeFields = z.object({
  code: z.string("must be a string").regex(/^\d{6}$/, "must have six digits"),
});
export const EmailFields = z.object({ email: Email });
export const PasswordResetFields = z.object({ token: Token, password: NewPassword });
export const EmailVerificationFields = z.object({ token: Token });
export const PasswordChangeFields = z.object({ password: Password, new_password: NewPassword });
export const PasswordConfirmationFields = z.object({ password: Password });
export const SignInProviderFields = z.object({
  provider: z.string("must be a string").max(64, "must have at most 64 characters"),
});
