/**
 * What identities are written. Letters go out behind the request's back, so that the time an answer takes tells nothing
 * about who is known here. They hold no name: whoever signs up chooses it, and we would say it to a stranger.
 */
import { INVITATION_DAYS } from "@tollgate/api/bounds.ts";
import type { Role } from "@tollgate/api/roles.ts";
import type { Log } from "../base/log.ts";
import { linkTo } from "./links.ts";
import type { Email, Mail } from "./mail.ts";

export interface Emails {
  resetPassword(to: string, token: string): void;
  verifyEmail(to: string, token: string): void;
  /** Someone signed up with the address of an identity that exists. */
  alreadyHere(to: string): void;
  /** To a team. `by` is the address of who invites: proven, and not chosen to be read, as a name is. */
  invitation(to: string, invitation: { token: string; role: Role; by: string }): void;
  /** Resolves when nothing is on its way. */
  idle(): Promise<void>;
}

interface EmailsOptions {
  mail: Mail;
  log: Log;
  /** How browsers reach the gateway. Never taken from a request: its sender would choose where the links lead. */
  origin: string;
}

export function openEmails({ mail, log, origin }: EmailsOptions): Emails {
  const inFlight = new Set<Promise<void>>();
  const post = (letter: Email): void => {
    const sending = mail
      .send(letter)
      .catch((error: Error) => log.error({ reason: error.message, subject: letter.subject }, "email not sent"))
      .finally(() => inFlight.delete(sending));
    inFlight.add(sending);
  };
  const link = (page: string, token: string): string => linkTo(origin, page, token);
  return {
    resetPassword: (to, token) =>
      post({
        to,
        subject: "Set a new password for Tollgate",
        text: lines(
          "We received a request to reset the Tollgate password for this email address. To set a new password, open:",
          link("reset-password", token),
          "The link works once, for one hour. If you did not request this, ignore this email; your password stays the same.",
        ),
      }),
    verifyEmail: (to, token) =>
      post({
        to,
        subject: "Confirm your email address for Tollgate",
        text: lines(
          "This email address was used to sign up for Tollgate. To confirm that it is yours, open:",
          link("verify-email", token),
          "The link works for one hour. If you did not sign up, ignore this email.",
        ),
      }),
    alreadyHere: (to) =>
      post({
        to,
        subject: "You have already signed up for Tollgate",
        text: lines(
          "Someone tried to sign up for Tollgate with this email address, but you have already signed up.",
          `If it was you, sign in or reset your password at ${origin}/console/`,
          "If it was not you, ignore this email.",
        ),
      }),
    invitation: (to, { token, role, by }) =>
      post({
        to,
        subject: "You are invited to a team on Tollgate",
        text: lines(
          `${by} invited you to join an account on Tollgate as ${ROLE_WORDS[role]}. To see the account and accept the invitation, open:`,
          link("join", token),
          `The link works once, for ${INVITATION_DAYS} days, and only if you sign in or sign up with this email address. If you did not expect this invitation, ignore this email.`,
        ),
      }),
    async idle() {
      await Promise.all(inFlight);
    },
  };
}

const ROLE_WORDS: Record<Role, string> = {
  owner: "an owner, who can do everything in the account and is liable for its debts",
  member: "a member, who manages the account's keys and machines",
  billing: "a billing contact, who buys credit for the account",
  viewer: "a viewer, who can see everything and change nothing",
};

const lines = (...paragraphs: string[]): string => `${paragraphs.join("\n\n")}\n`;
