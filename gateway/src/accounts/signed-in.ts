/** The identity of a better-auth session. */
import type { Uuid } from "../base/ids.ts";

export interface SignedIn {
  identityId: Uuid;
  sessionId: Uuid;
  email: string;
  name: string;
  operator: boolean;
  emailVerified: boolean;
  twoFactor: boolean;
}

/** The used part of the library's answer. */
export interface FoundSession {
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

export function signedInOf({ session, user }: FoundSession): SignedIn {
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
