/** Export and deletion of an account, and of a person. */
import {
  DELETION_CODE_RULE,
  DELETION_NAME_RULE,
  type deletionRoutes,
  EMAIL_RULE,
} from "@tollgate/api/console/account-and-person-deletion.ts";
import type { Membership } from "../../accounts/accounts.ts";
import type { SignedInPerson } from "../../accounts/identities.ts";
import { publicId } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { writeZip } from "../../base/zip.ts";
import { type Fault, ruleViolation } from "../../faults.ts";
import { requireRole } from "../../http/guards.ts";
import type { OpenCall } from "../../http/http-call.ts";
import { singlePage } from "../../http/lists/list-pages.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { RouteServices } from "../services.ts";
import { exportAccountFiles } from "./account-export.ts";
import { meObject, sessionObject } from "./accounts.ts";
import { requireSecondFactor } from "./require-second-factor.ts";
import { readCaller, setCookies, withSignInErrors } from "./sign-in.ts";

export function deletionHandlers(parts: RouteServices): Handlers<typeof deletionRoutes> {
  const { identities, apiKeys, hostTokens, payments, now } = parts;
  const { deletion, leaving } = identities;

  /** The named account, suspended or not. Throws unless the person is an owner. */
  const owned = async (
    who: SignedInPerson,
    name: string,
    refuse: (code: "not_found") => Fault,
  ): Promise<Membership> => {
    const theirs = await identities.accountsOf(who.identityId);
    const account = theirs.find(({ id }) => publicId("acc", id) === name);
    if (account === undefined) throw refuse("not_found");
    requireRole(account, "own");
    return account;
  };
  const prove = (asked: { who: SignedInPerson; call: OpenCall }, code: string | null | undefined): Promise<void> =>
    requireSecondFactor(identities, asked, { code, rule: DELETION_CODE_RULE });

  return withSignInErrors<Handlers<typeof deletionRoutes>>({
    async exportAccount(asked) {
      const account = await owned(asked.who, asked.params.id, asked.refuse);
      return { name: `${publicId("acc", account.id)}.zip`, text: writeZip(exportAccountFiles(parts, asked, account)) };
    },

    async getDeletion({ who, params, refuse }) {
      const { id } = await owned(who, params.id, refuse);
      const { kind, balance, keys, nodes, people, blockers } = await deletion.plan(id);
      return {
        object: "account_deletion",
        account: publicId("acc", id),
        kind,
        given_up_micro: formatExactMicrodollars(balance),
        keys,
        nodes,
        people,
        blockers: blockers.map(({ why }) => why),
      };
    },

    async deleteAccount(asked) {
      const { who, params, refuse } = asked;
      const { id, name } = await owned(who, params.id, refuse);
      const { name: typed, code } = asked.body();
      if (typed !== name) throw ruleViolation("name", DELETION_NAME_RULE);
      const [blocker] = (await deletion.plan(id)).blockers;
      if (blocker !== undefined) throw refuse(blocker.code, { message: blocker.why });
      await prove(asked, code);
      // Removes the card at the payment provider first, because the deleted account no longer refers to it.
      await payments?.removeMethod(id);
      const outcome = await deletion.delete(id, who);
      if (outcome === "role_required") throw refuse("role_required");
      if ("code" in outcome) throw refuse(outcome.code, { message: outcome.why });
      for (const key of outcome.keys) await apiKeys.revoke(id, key);
      for (const token of outcome.tokens) await hostTokens.revoke(id, token);
      identities.tellDeleted(outcome.people, { accountId: id, by: who.email, at: new Date(now()) });
      return { deleted: publicId("acc", id) };
    },

    async exportPerson({ who }) {
      const me = await meObject(identities, who);
      const sessions = singlePage((await identities.sessions.of(who.identityId)).map((one) => sessionObject(one, who)));
      const text = `${JSON.stringify({ ...me, sessions: sessions.data }, undefined, 2)}\n`;
      return { name: `${publicId("usr", who.identityId)}.json`, text: once(text) };
    },

    async deletePerson(asked) {
      const { who, refuse } = asked;
      const { email, code } = asked.body();
      if (email.toLowerCase() !== who.email) throw ruleViolation("email", EMAIL_RULE);
      await prove(asked, code);
      const outcome = await leaving.leave(who);
      if (outcome !== "gone") throw refuse(outcome.code, { message: outcome.why });
      const { cookies } = await identities.signIn.leave(readCaller(asked));
      return setCookies(asked, { deleted: publicId("usr", who.identityId), cookies });
    },
  });
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
