/** Limits attempts per subject. Counts are in the database, shared by all gateways and kept over restarts, and use its clock. */
import { createHmac } from "node:crypto";
import { isIPv6 } from "node:net";
import type pg from "pg";
import { z } from "zod";
import { column, queryOne, row } from "../db/rows.ts";
import { SignInRefusal } from "./refusals.ts";

interface Rule {
  attempts: number;
  windowS: number;
}

/** Emails have their own rules, because they reach people who did not ask for them. */
export const ATTEMPT_RULES = {
  address: { attempts: 10, windowS: 60 },
  email: { attempts: 20, windowS: 15 * 60 },
  identity: { attempts: 20, windowS: 15 * 60 },
  /** Second-factor codes, of the app and backup codes together. */
  secondFactor: { attempts: 10, windowS: 15 * 60 },
  lettersFromAddress: { attempts: 10, windowS: 15 * 60 },
  lettersToEmail: { attempts: 3, windowS: 15 * 60 },
  /** Per inviter and per recipient, so that an address gets few invitations from all inviters together. */
  invitations: { attempts: 20, windowS: 60 * 60 },
  invitationsToEmail: { attempts: 5, windowS: 24 * 60 * 60 },
  /** Codes of logins for scripts, which are typed or opened from a terminal. */
  scriptCodes: { attempts: 30, windowS: 15 * 60 },
  invitationLinks: { attempts: 20, windowS: 15 * 60 },
  teamChanges: { attempts: 60, windowS: 60 * 60 },
  /** A second-factor code is valid for three steps of 30 s and is accepted once. */
  usedCode: { attempts: 1, windowS: 120 },
} as const satisfies Record<string, Rule>;

/** `waitS` is zero or negative if the window has just ended. */
const Counted = row({ attempts: column.count, waitS: z.int() });

export interface Attempts {
  /** Counts an attempt, or refuses it with the seconds to wait. */
  take(what: keyof typeof ATTEMPT_RULES, subject: string): Promise<void>;
  /** Resets the count after a success. */
  forget(what: keyof typeof ATTEMPT_RULES, subject: string): Promise<void>;
  sweep(): Promise<void>;
}

export function openAttempts({ pool, secret }: { pool: pg.Pool; secret: string }): Attempts {
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

/** A code is accepted only once, because someone may have seen it while it is valid. */
export async function useCode(attempts: Attempts, identityId: string, code: string): Promise<void> {
  try {
    await attempts.take("usedCode", `${identityId} ${code}`);
  } catch (cause) {
    throw cause instanceof SignInRefusal ? new SignInRefusal("wrong_code", { cause }) : cause;
  }
}

/** One person has a whole IPv6 /64 network, so it counts as one address. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  const groups = [...left, ...zeros, ...right].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ""));
  return `${groups.join(":")}::/64`;
}
