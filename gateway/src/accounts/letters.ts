/**
 * What identities are written. Letters go out behind the request's back, so that the time an answer takes tells nothing
 * about who is known here. They hold no name: whoever signs up chooses it, and we would say it to a stranger.
 */
import { INVITATION_DAYS } from "@tollgate/api/bounds.ts";
import type { Role } from "@tollgate/api/roles.ts";
import type { Log } from "../base/log.ts";
import { linkTo } from "./links.ts";
import type { Letter, Mail } from "./mail.ts";

export interface Letters {
  resetPassword(to: string, token: string): void;
  verifyEmail(to: string, token: string): void;
  /** Somebody signed up with the address of an identity that exists. */
  alreadyHere(to: string): void;
  /** To a team. `by` is the address of who invites: proven, and not chosen to be read, as a name is. */
  invitation(to: string, invitation: { token: string; role: Role; by: string }): void;
  /** Resolves when nothing is on its way. */
  idle(): Promise<void>;
}

interface LettersOptions {
  mail: Mail;
  log: Log;
  /** How browsers reach the gateway. Never taken from a request: its sender would choose where the links lead. */
  origin: string;
}

export function openLetters({ mail, log, origin }: LettersOptions): Letters {
  const underWay = new Set<Promise<void>>();
  const post = (letter: Letter): void => {
    const sending = mail
      .send(letter)
      .catch((error: Error) => log.error({ reason: error.message, subject: letter.subject }, "a letter was not sent"))
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
  };
  const link = (page: string, token: string): string => linkTo(origin, page, token);
  return {
    resetPassword: (to, token) =>
      post({
        to,
        subject: "Set a new password for Tollgate",
        text: lines(
          "Somebody, probably you, asked to set a new password for this e-mail address. To do so, open:",
          link("reset-password", token),
          "The link works once, for one hour. If it was not you, do nothing: your password stays as it is.",
        ),
      }),
    verifyEmail: (to, token) =>
      post({
        to,
        subject: "Confirm your e-mail address for Tollgate",
        text: lines(
          "Somebody, probably you, signed up with this e-mail address. To confirm that it is yours, open:",
          link("verify-email", token),
          "The link works for one hour. If it was not you, do nothing.",
        ),
      }),
    alreadyHere: (to) =>
      post({
        to,
        subject: "You have a sign-in for Tollgate already",
        text: lines(
          "Somebody, probably you, tried to sign up with this e-mail address, which has a sign-in already.",
          `You can sign in, or set a new password, at ${origin}/console/`,
          "If it was not you, do nothing.",
        ),
      }),
    invitation: (to, { token, role, by }) =>
      post({
        to,
        subject: "You are invited to a team on Tollgate",
        text: lines(
          `${by} invites this e-mail address to the team of an account on Tollgate, as ${ROLE_WORDS[role]}. To see which, and to accept it, open:`,
          link("join", token),
          `The link works once, for ${INVITATION_DAYS} days, for who signs in or signs up with this address. If you do not expect it, do nothing.`,
        ),
      }),
    async idle() {
      await Promise.all(underWay);
    },
  };
}

const ROLE_WORDS: Record<Role, string> = {
  owner: "an owner, who may do everything in it and answers for what it owes",
  member: "a member, who works with its keys and machines",
  billing: "billing, which buys credit for it",
  viewer: "a viewer, who sees it and changes nothing",
};

const lines = (...paragraphs: string[]): string => `${paragraphs.join("\n\n")}\n`;
