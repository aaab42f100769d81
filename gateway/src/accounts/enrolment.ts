/** Identities that the platform makes itself, rather than people by signing up: the only way to become an operator. */
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from "@tollgate/api/bounds.ts";
import pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { type PasswordHash, scryptHash } from "./password-hash.ts";

const UNIQUE_VIOLATION = "23505";

export interface NewIdentity {
  email: string;
  password: string;
  name: string;
  operator: boolean;
}

/** The identity asked for cannot be made. One line that a person can act on. */
export class IdentityError extends Error {
  override name = "IdentityError";
}

interface EnrolmentOptions {
  pool: pg.Pool;
  newId: NewId;
  passwordHash?: PasswordHash | undefined;
}

export async function createIdentity(options: EnrolmentOptions, identity: NewIdentity): Promise<Uuid> {
  const { pool, newId, passwordHash = scryptHash } = options;
  const { email, password, name, operator } = identity;
  if (password.length < PASSWORD_CHARS_MIN || password.length > PASSWORD_CHARS_MAX) {
    throw new IdentityError(`A password has ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters.`);
  }
  const id = newId();
  const values = [id, email.toLowerCase(), name, operator, newId(), await passwordHash.hash(password)];
  try {
    // One statement: an identity without a way to sign in cannot exist.
    await pool.query(
      `with made as (insert into identity (id, email, name, operator, email_verified) values ($1, $2, $3, $4, true))
       insert into identity_credential (id, identity_id, provider, subject, password_hash)
       values ($5, $1, 'credential', $1::uuid::text, $6)`,
      values,
    );
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError) || cause.code !== UNIQUE_VIOLATION) throw cause;
    throw new IdentityError(`An identity with the e-mail address ${email} exists already.`, { cause });
  }
  return id;
}

const Found = row({ id: column.uuid, emailVerified: z.boolean() });

interface OperatorMade {
  id: Uuid;
  /** An identity that was there already became an operator; it signs in as before. */
  promoted: boolean;
}

/**
 * Makes an operator. Where the e-mail address has an identity, that one is promoted, if it has proven the address; it
 * keeps the way it signs in.
 */
export async function createOperator(
  options: EnrolmentOptions,
  { email, password, name }: { email: string; password: string | undefined; name: string },
): Promise<OperatorMade> {
  const text = `select id, email_verified as "emailVerified" from identity where email = $1`;
  const found = await queryRow(options.pool, Found, text, [email.toLowerCase()]);
  if (found === undefined) {
    if (password === undefined) throw new IdentityError(`Nobody signs in as ${email} yet: give a password.`);
    return { id: await createIdentity(options, { email, password, name, operator: true }), promoted: false };
  }
  if (password !== undefined) {
    throw new IdentityError(`${email} signs in already; leave out the password to make that identity an operator.`);
  }
  if (!found.emailVerified) {
    throw new IdentityError(
      `${email} has not been confirmed: somebody else may have signed up with it. Confirm it by email, or use another address.`,
    );
  }
  await options.pool.query("update identity set operator = true, updated_at = now() where id = $1", [found.id]);
  return { id: found.id, promoted: true };
}

const Exists = row({ exists: z.boolean() });

/** Whether anybody can sign in as an operator. */
export async function hasOperator(pool: pg.Pool): Promise<boolean> {
  return (await queryOne(pool, Exists, "select exists (select from identity where operator)", [])).exists;
}
