/** The step after a sign-in: the requested page, the code, or waiting for an email confirmation. */
import { useNavigate } from "@tanstack/react-router";
import type { SignInStatus } from "../../api/types.ts";
import { isJoining } from "../../data/joining.ts";
import { refreshSession } from "../../data/session.ts";
import { homeOf } from "../../layout/navigation.ts";

/** Resolves when the next page is loaded, so that the button stays busy until then. */
export function useGoOn(next: string | undefined): (status: SignInStatus) => Promise<void> {
  const navigate = useNavigate();
  return async (status) => {
    if (status === "two_factor_required") {
      await navigate({ to: "/sign-in/code", search: next === undefined ? {} : { next } });
    }
    if (status !== "signed_in") return;
    const me = await refreshSession();
    // A user who followed an invitation and had to confirm an address returns to the invitation.
    if (me !== null) await navigate({ to: next ?? (isJoining() ? "/join" : homeOf(me)) });
  };
}

/** An emailed link has its token after the `#`, which servers do not see. */
export function tokenOfAddress(): string {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
}
