/**
 * Limits attempts, for example to sign in, per address or identity. The counts are in the database, so that all
 * gateways share them and they survive restarts. The database's clock measures the window.
 */
import { createHmac } from "node:crypto";
import { isIPv6 } from "node:net";
import type pg from "pg";
import { z } from "zod";
import { column, queryOne, row } from "../db/rows.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";

interface Rule {
  attempts: number;
  windowS: number;
}

/**
 * The limits of each kind of attempt. Those for sending emails are stricter, because emails reach people who did not
 * ask for them.
 */
export const ATTEMPT_RULES = {
  address: { attempts: 10, windowS: 60 },
  email: { attempts: 20, windowS: 15 * 60 },
  identity: { attempts: 20, windowS: 15 * 60 },
  /** Second-factor codes, whether from the app or backup codes. */
  secondFactor: { attempts: 10, windowS: 15 * 60 },
  lettersFromAddress: { attempts: 10, windowS: 15 * 60 },
  lettersToEmail: { attempts: 3, windowS: 15 * 60 },
  /** Counted per inviter and per recipient, so that an address gets few invitations from all inviters together. */
  invitations: { attempts: 20, windowS: 60 * 60 },
  invitationsToEmail: { attempts: 5, windowS: 24 * 60 * 60 },
  /** Lookups of the codes that confirm a script's login. People type a code, or open a link with it from a terminal. */
  scriptCodes: { attempts: 30, windowS: 15 * 60 },
  invitationLinks: { attempts: 20, windowS: 15 * 60 },
  teamChanges: { attempts: 60, windowS: 60 * 60 },
  /** Each second-factor code is accepted once. It is valid for three periods of 30 s. */
  usedCode: { attempts: 1, windowS: 120 },
} as const satisfies Record<string, Rule>;

/** `waitS`: the seconds until the window ends. Zero or negative if it has just ended. */
const Counted = row({ attempts: column.count, waitS: z.int() });

export interface AttemptLimits {
  /** Counts an attempt. Above the limit it throws a refusal with the seconds to wait. */
  take(what: keyof typeof ATTEMPT_RULES, subject: string): Promise<void>;
  /** Resets the count after a success. */
  forget(what: keyof typeof ATTEMPT_RULES, subject: string): Promise<void>;
  sweep(): Promise<void>;
}

export function openAttemptLimits({ pool, secret }: { pool: pg.Pool; secret: string }): AttemptLimits {
  const keyOf = (what: string, subject: string): Buffer =>
    createHmac("sha256", secret).update(`attempts\0${what}\0${subject}`).digest();
  return {
    async take(what, subject) {
      const { attempts, windowS } = ATTEMPT_RULES[what];
      const counted = await queryOne(
        pool,
        Counted,
        `insert into identity_attempt as a (subject, attempts, ends_at) values ($1, 1, now() + make_interval(secs => $2))
         on conflict (subject) do update set
           attempts = case when a.ends_at <= now() then 1 else a.attempts + 1 end,
           ends_at = case when a.ends_at <= now() then excluded.ends_at else a.ends_at end
         returning attempts, ceil(extract(epoch from ends_at - now()))::integer as "waitS"`,
        [keyOf(what, subject), windowS],
      );
      if (counted.attempts > attempts) {
        throw new SignInRefusal("too_many_attempts", { waitS: Math.max(1, counted.waitS) });
      }
    },
    async forget(what, subject) {
      await pool.query("delete from identity_attempt where subject = $1", [keyOf(what, subject)]);
    },
    async sweep() {
      await pool.query("delete from identity_attempt where ends_at <= now()");
    },
  };
}

/** Refuses a second use of a second-factor code, because someone who saw it could use it while it is still valid. */
export async function refuseUsedCode(attempts: AttemptLimits, identityId: string, code: string): Promise<void> {
  try {
    await attempts.take("usedCode", `${identityId} ${code}`);
  } catch (cause) {
    throw cause instanceof SignInRefusal ? new SignInRefusal("wrong_code", { cause }) : cause;
  }
}

/**
 * The part of an address that counts. One person has a whole IPv6 /64 network, so that network counts as one address.
 */
export function groupAddressByNetwork(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  const groups = [...left, ...zeros, ...right].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ""));
  return `${groups.join(":")}::/64`;
}
