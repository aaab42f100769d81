/** Creates identities from the command line: the only way to create an operator. */
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from "@tollgate/api/api-limits.ts";
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

/** Thrown when the identity cannot be created. The message is one line that says what to do. */
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
  checkPassword(password);
  const id = newId();
  const values = [id, email.toLowerCase(), name, operator, newId(), await passwordHash.hash(password)];
  try {
    // Inserts the identity and its password in one statement, because an identity must have a way to sign in.
    await pool.query(
      `with made as (insert into identity (id, email, name, operator, email_verified) values ($1, $2, $3, $4, true))
       insert into identity_credential (id, identity_id, provider, subject, password_hash)
       values ($5, $1, 'credential', $1::uuid::text, $6)`,
      values,
    );
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError) || cause.code !== UNIQUE_VIOLATION) throw cause;
    throw new IdentityError(`A user with the email address ${email} already exists.`, { cause });
  }
  return id;
}

function checkPassword(password: string): void {
  if (password.length < PASSWORD_CHARS_MIN || password.length > PASSWORD_CHARS_MAX)
    throw new IdentityError(`The password must have ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters.`);
  if (password.trim() === "") throw new IdentityError("The password must not consist of white space only.");
}

const Found = row({ id: column.uuid, emailVerified: z.boolean() });

interface OperatorMade {
  id: Uuid;
  /** Whether an existing user became an operator. */
  promoted: boolean;
}

/**
 * Creates an operator, or makes an existing user one. A user with a confirmed address keeps theirs. If the
 * address is unconfirmed, a stranger may have signed up with it: the user gets a new password, and all sessions and
 * tokens of the old one end.
 */
export async function createOperator(
  options: EnrolmentOptions,
  { email, password, name }: { email: string; password: string | undefined; name: string },
): Promise<OperatorMade> {
  const { pool, newId, passwordHash = scryptHash } = options;
  const text = `select id, email_verified as "emailVerified" from identity where email = $1`;
  const found = await queryRow(pool, Found, text, [email.toLowerCase()]);
  if (found === undefined) {
    if (password === undefined)
      throw new IdentityError(`${email} has not signed up. Create this user with a password: --password -`);
    return { id: await createIdentity(options, { email, password, name, operator: true }), promoted: false };
  }
  if (found.emailVerified) {
    if (password !== undefined)
      throw new IdentityError(`${email} has already signed up and keeps its password. Leave out --password.`);
    await pool.query("update identity set operator = true, updated_at = now() where id = $1", [found.id]);
  } else {
    if (password === undefined) {
      throw new IdentityError(
        `${email} signed up without confirming the email address, so a stranger may know its password: set a new one with --password -`,
      );
    }
    checkPassword(password);
    await pool.query(TAKE_OVER, [found.id, newId(), await passwordHash.hash(password)]);
  }
  return { id: found.id, promoted: true };
}

/** Sets the new password and ends all sessions in one statement, so that no session of the old password survives. */
const TAKE_OVER = `
  with taken as (
    update identity set operator = true, email_verified = true, two_factor_enabled = false, updated_at = now()
     where id = $1 and not email_verified returning id),
  password as (
    insert into identity_credential (id, identity_id, provider, subject, password_hash)
    select $2, id, 'credential', id::text, $3 from taken
    on conflict (provider, subject) do update set password_hash = excluded.password_hash, updated_at = now()),
  factor as (delete from identity_two_factor where identity_id in (select id from taken)),
  sessions as (delete from identity_session where identity_id in (select id from taken))
  delete from identity_verification where value in (select id::text from taken)`;

const Exists = row({ exists: z.boolean() });

/** Whether anyone can sign in as an operator. */
export async function hasOperator(pool: pg.Pool): Promise<boolean> {
  return (await queryOne(pool, Exists, "select exists (select from identity where operator)", [])).exists;
}
