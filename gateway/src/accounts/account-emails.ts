/**
 * Sends emails to identities. They are sent in the background, so that response times do not reveal whether an address
 * is registered. They contain no names, because a stranger could choose a misleading one.
 */
import { INVITATION_VALID_DAYS } from "@tollgate/api/api-limits.ts";
import type { Role } from "@tollgate/api/roles.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { buildConsoleTokenLink } from "./console-token-link.ts";
import type { Email, MailSender } from "./mail-sender.ts";

export interface AccountEmailSender {
  resetPassword(to: string, token: string): void;
  verifyEmail(to: string, token: string): void;
  /** Sent when someone signs up with an address that is already registered. */
  alreadyHere(to: string): void;
  /** Invites someone to a team. `by` is the inviter's verified address, because a name could be chosen to mislead. */
  invitation(to: string, invitation: { token: string; role: Role; by: string }): void;
  /** Reports a changed payout method. Sent to the account's owners and billing contacts. */
  payoutMethodChanged(to: string, changed: PayoutMethodChange): void;
  /** Reports a deleted account. Sent to every member of its team. */
  accountDeleted(to: string, deleted: { accountId: Uuid; by: string; at: Date }): void;
  /** Resolves when no email is in flight. */
  idle(): Promise<void>;
}

/** A changed payout method. `label`: the new method, masked. Null: the method was removed. */
export interface PayoutMethodChange {
  accountId: Uuid;
  label: string | null;
  by: string;
  at: Date;
}

interface EmailsOptions {
  mail: MailSender;
  log: Log;
  /** The public URL of links. Never taken from a request, whose sender could redirect the links. */
  origin: string;
}

export function openAccountEmailSender({ mail, log, origin }: EmailsOptions): AccountEmailSender {
  const inFlight = new Set<Promise<void>>();
  const post = (letter: Email): void => {
    const sending = mail
      .send(letter)
      .catch((error: Error) => log.error({ reason: error.message, subject: letter.subject }, "email not sent"))
      .finally(() => inFlight.delete(sending));
    inFlight.add(sending);
  };
  const link = (page: string, token: string): string => buildConsoleTokenLink(origin, page, token);
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
          `The link works once, for ${INVITATION_VALID_DAYS} days, and only if you sign in or sign up with this email address. If you did not expect this invitation, ignore this email.`,
        ),
      }),
    payoutMethodChanged: (to, { accountId, label, by, at }) =>
      post({
        to,
        subject: "The payout method of a Tollgate account was changed",
        text: lines(
          `${by} ${label === null ? "removed the payout method" : "changed the payout method"} of the host account ${publicId("acc", accountId)} at ${minuteOf(at)} UTC.`,
          label === null
            ? "The account now has no payout method, so the operators cannot pay it."
            : `Payouts that are not paid yet go to: ${label}. To see or change it, open ${origin}/console/host/payouts`,
          "If you did not expect this change, set the payout method again and write to the operator of the platform.",
        ),
      }),
    accountDeleted: (to, { accountId, by, at }) =>
      post({
        to,
        subject: "A Tollgate account was deleted",
        text: lines(
          `${by} deleted the account ${publicId("acc", accountId)} at ${minuteOf(at)} UTC. You were in its team.`,
          "The account's API keys and host tokens are revoked, and its nodes are retired. The ledger keeps the amounts used, earned and paid, without names.",
          "If you did not expect this, write to the operator of the platform. A deleted account cannot be restored.",
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

const minuteOf = (at: Date): string => at.toISOString().slice(0, 16).replace("T", " ");

const lines = (...paragraphs: string[]): string => `${paragraphs.join("\n\n")}\n`;
