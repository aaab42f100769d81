/** The identity of a session, as the sign-in library returns it. */
import type { Uuid } from "../base/ids.ts";

export interface SignedInPerson {
  identityId: Uuid;
  sessionId: Uuid;
  email: string;
  name: string;
  operator: boolean;
  emailVerified: boolean;
  twoFactor: boolean;
}

/** The part of the library's session that we use. */
export interface PersonAndSession {
  session: { id: string };
  user: {
    id: string;
    email: string;
    name: string;
    emailVerified: boolean;
    operator?: boolean | null | undefined;
    twoFactorEnabled?: boolean | null | undefined;
  };
}

export function convertBetterAuthSession({ session, user }: PersonAndSession): SignedInPerson {
  const { id, email, name, operator, emailVerified, twoFactorEnabled } = user;
  return {
    identityId: id as Uuid,
    sessionId: session.id as Uuid,
    email,
    name,
    operator: operator === true,
    emailVerified,
    twoFactor: twoFactorEnabled === true,
  };
}
