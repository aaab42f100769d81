/**
 * Opens the next page after a sign-in: the requested page, the code page, or the page that waits for an email
 * confirmation.
 */
import { useNavigate } from "@tanstack/react-router";
import type { SignInStatus } from "../../api/answer-types.ts";
import { isAcceptingInvitation } from "../../data/invitation-token.ts";
import { refreshSession } from "../../data/signed-in-session.ts";
import { chooseHomePath } from "../../layout/navigation.ts";

/** Returns a function that opens the next page. It resolves when that page is loaded, so that the button stays busy. */
export function useOpenNextPage(next: string | undefined): (status: SignInStatus) => Promise<void> {
  const navigate = useNavigate();
  return async (status) => {
    if (status === "two_factor_required") {
      await navigate({ to: "/sign-in/code", search: next === undefined ? {} : { next } });
    }
    if (status !== "signed_in") return;
    const me = await refreshSession();
    // A user who opened an invitation and had to confirm an email address returns to the invitation.
    if (me !== null) await navigate({ to: next ?? (isAcceptingInvitation() ? "/join" : chooseHomePath(me)) });
  };
}

/** The token of an emailed link. It is after the `#`, which browsers do not send to servers. */
export function readTokenFromUrl(): string {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
}
