/** Asks for a second-factor code, if the person enabled one, for actions where a session alone is not enough. */
import type { AuthCaller } from "../../accounts/auth-library-call.ts";
import type { Identities, SignedInPerson } from "../../accounts/identities.ts";
import { ruleViolation } from "../../faults.ts";
import type { OpenCall } from "../../http/http-call.ts";
import { readCaller } from "./sign-in.ts";

export async function requireSecondFactor(
  { twoFactor }: Pick<Identities, "twoFactor">,
  asked: { who: SignedInPerson; call: OpenCall },
  { code, rule }: { code: string | null | undefined; rule: string },
): Promise<void> {
  if (!asked.who.twoFactor) return;
  if (code == null) throw ruleViolation("code", rule);
  const caller: AuthCaller = readCaller(asked);
  await twoFactor.prove(code, { identityId: asked.who.identityId, caller });
}
