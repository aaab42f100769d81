/**
 * Sessions for scripts. A script creates a token. When a person confirms the token's code, its hash becomes a session
 * of that person. Script sessions have no operator rights and end after 30 days.
 */
import { hash, randomBytes, randomInt } from "node:crypto";
import type pg from "pg";
import { z } from "zod";
import { UnreachableError } from "../base/dependency.ts";
import type { NewId, Uuid } from "../base/ids.ts";
import { SCRIPT_ACCESS, type ScriptAccess } from "../base/stored-enumerations.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { type AttemptLimits, groupAddressByNetwork } from "./attempt-limits.ts";
import type { SignedInPerson } from "./signed-in-person.ts";

/** The migration that adds the tables for scripts. */
export const SCRIPT_SESSIONS_MIGRATION = 50;
const LOGIN_MINUTES = 10;
const SESSION_DAYS = 30;

const TOKEN = /^tgs_[0-9A-Za-z_-]{43}$/;
const TOKEN_BYTES = 32;
/** The letters of codes: consonants that are easy to distinguish and form no words. There are 20^8 codes. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LETTERS = 8;

const Access = z.enum(SCRIPT_ACCESS);
const Started = row({ expiresAt: column.moment });
const Waiting = row({
  name: z.string(),
  access: Access,
  address: z.string().nullable(),
  expiresAt: column.moment,
});
type WaitingLogin = z.infer<typeof Waiting>;
const State = row({ sessionEnds: column.moment.nullable(), refused: z.boolean().nullable() });
const Found = row({
  identityId: column.uuid,
  sessionId: column.uuid,
  email: z.string(),
  name: z.string(),
  emailVerified: z.boolean(),
  twoFactor: z.boolean(),
  access: Access,
});

type LoginState = { status: "confirmed"; expiresAt: Date } | { status: "pending" | "refused" | "expired" };

export interface ScriptSessions {
  begin(login: {
    name: string;
    access: ScriptAccess;
    address: string;
  }): Promise<{ token: string; code: string; expiresAt: Date }>;
  /** Returns the state of the login that has this token. */
  state(token: string): Promise<LoginState>;
  /** Returns the open login that has this code. */
  find(code: string, identityId: Uuid): Promise<WaitingLogin | undefined>;
  /** Confirms or rejects a login. Returns false if no login with this code is open. */
  answer(code: string, identityId: Uuid, confirm: boolean): Promise<boolean>;
  /** Returns the identity and the access level of the session with this token. */
  session(token: string): Promise<{ who: SignedInPerson; access: ScriptAccess } | undefined>;
  end(token: string): Promise<void>;
  sweep(): Promise<void>;
}

interface ScriptsOptions {
  pool: pg.Pool;
  newId: NewId;
  attempts: AttemptLimits;
  /** Whether the schema has the tables for script sessions. */
  hasScripts: () => boolean;
}

export function openScriptSessions({ pool, newId, attempts, hasScripts }: ScriptsOptions): ScriptSessions {
  const requireSchema = (): void => {
    if (!hasScripts()) throw new UnreachableError("database", `it has no migration ${SCRIPT_SESSIONS_MIGRATION} yet`);
  };
  return {
    async begin({ name, access, address }) {
      requireSchema();
      await attempts.take("address", groupAddressByNetwork(address));
      const token = `tgs_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
      const code = newCode();
      const { expiresAt } = await queryOne(
        pool,
        Started,
        `insert into script_login (token_hash, code, name, access, ip_address, expires_at)
         values ($1, $2, $3, $4, $5, now() + make_interval(mins => $6)) returning expires_at as "expiresAt"`,
        [hashOf(token), code, name, access, address, LOGIN_MINUTES],
      );
      return { token, code, expiresAt };
    },

    async state(token) {
      requireSchema();
      const { sessionEnds, refused } = await queryOne(
        pool,
        State,
        `select (select expires_at from identity_session where token = $1 and expires_at > now()) as "sessionEnds",
                (select refused_at is not null from script_login where token_hash = $2 and expires_at > now()) as refused`,
        [storedToken(token), hashOf(token)],
      );
      if (sessionEnds !== null) return { status: "confirmed", expiresAt: sessionEnds };
      if (refused === null) return { status: "expired" };
      return { status: refused ? "refused" : "pending" };
    },

    async find(code, identityId) {
      requireSchema();
      await attempts.take("scriptCodes", identityId);
      return await queryRow(
        pool,
        Waiting,
        `select name, access, ip_address as address, expires_at as "expiresAt" from script_login
          where code = $1 and refused_at is null and expires_at > now()`,
        [plainCode(code)],
      );
    },

    async answer(code, identityId, confirm) {
      requireSchema();
      await attempts.take("scriptCodes", identityId);
      const { rowCount } = confirm
        ? await pool.query(
            `with login as (
               delete from script_login where code = $1 and refused_at is null and expires_at > now()
                 returning token_hash, name, access, ip_address)
             insert into identity_session (id, identity_id, token, ip_address, user_agent, expires_at, script_access)
             select $2, $3, $4 || token_hash, ip_address, name, now() + make_interval(days => $5), access from login`,
            [plainCode(code), newId(), identityId, PREFIX, SESSION_DAYS],
          )
        : await pool.query(
            "update script_login set refused_at = now() where code = $1 and refused_at is null and expires_at > now()",
            [plainCode(code)],
          );
      return rowCount === 1;
    },

    async session(token) {
      if (!hasScripts()) return undefined;
      const found = await queryRow(
        pool,
        Found,
        `select i.id as "identityId", s.id as "sessionId", i.email, i.name, i.email_verified as "emailVerified",
                i.two_factor_enabled as "twoFactor", s.script_access as access
           from identity_session s join identity i on i.id = s.identity_id
          where s.token = $1 and s.expires_at > now() and s.script_access is not null and not i.operator`,
        [storedToken(token)],
      );
      if (found === undefined) return undefined;
      const { access, ...who } = found;
      return { who: { ...who, operator: false }, access };
    },

    async end(token) {
      await pool.query("delete from identity_session where token = $1", [storedToken(token)]);
    },

    async sweep() {
      if (hasScripts()) await pool.query("delete from script_login where expires_at <= now()");
    },
  };
}

/** Returns the token of an Authorization header if it is a script's token. */
export function readScriptToken(authorization: string | undefined): string | undefined {
  const token = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}

/** Formats a code as the script shows it: `BCDF-GHJK`. */
export const formatLoginCode = (code: string): string => `${plainCode(code).slice(0, 4)}-${plainCode(code).slice(4)}`;

/** Normalizes a typed code. Accepts any case, with or without the hyphen. */
const plainCode = (code: string): string => code.toUpperCase().replaceAll(/[\s-]/g, "");

const newCode = (): string => Array.from({ length: CODE_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]).join("");

/** A fast hash is enough for 256 random bits. */
const hashOf = (token: string): string => hash("sha256", token, "hex");

/** Marks rows of scripts in the column with the tokens of browser sessions. No cookie can contain such a value. */
const PREFIX = "script:";
const storedToken = (token: string): string => PREFIX + hashOf(token);
