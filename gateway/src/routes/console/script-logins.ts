/** Sessions for scripts: a script requests a login, and a person confirms or rejects it. */
import type { scriptLoginRoutes } from "@tollgate/api/console/script-login.ts";
import type { SignedInPerson } from "../../accounts/identities.ts";
import { formatLoginCode } from "../../accounts/script-sessions.ts";
import type { AccountServices } from "../../accounts/services.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import { withSignInErrors } from "./sign-in.ts";

const POLL_S = 1;

export function scriptLoginHandlers({
  identities: { scripts },
}: Pick<AccountServices, "identities">): Handlers<typeof scriptLoginRoutes> {
  return withSignInErrors<Handlers<typeof scriptLoginRoutes>>({
    async beginScriptLogin({ call, body }) {
      const { token, code, expiresAt } = await scripts.begin({ ...body(), address: call.address() });
      const shown = formatLoginCode(code);
      return {
        token,
        code: shown,
        confirm_path: `/console/authorize?code=${shown}`,
        expires_at: toUnixSeconds(expiresAt),
        poll_s: POLL_S,
      };
    },

    async getScriptLoginState({ body }) {
      const state = await scripts.state(body().token);
      return {
        status: state.status,
        expires_at: state.status === "confirmed" ? toUnixSeconds(state.expiresAt) : null,
      };
    },

    async readScriptLogin({ who, params, refuse }) {
      if (isOperator(who)) throw refuse("operator_excluded");
      const waiting = await scripts.find(params.code, who.identityId);
      if (waiting === undefined) throw refuse("not_found");
      const { name, access, address, expiresAt } = waiting;
      return { code: formatLoginCode(params.code), name, access, address, expires_at: toUnixSeconds(expiresAt) };
    },

    async answerScriptLogin({ who, params, body, refuse }) {
      const { confirm } = body();
      if (isOperator(who)) throw refuse("operator_excluded");
      if (!(await scripts.answer(params.code, who.identityId, confirm))) throw refuse("not_found");
      return { status: confirm ? "confirmed" : "refused" };
    },
  });
}

const isOperator = ({ operator }: SignedInPerson): boolean => operator;
