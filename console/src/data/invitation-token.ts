/**
 * Stores the token of an invitation that a person is accepting. The token is in the URL's fragment, which servers do
 * not see. It stays in this browser tab while the person signs in or up.
 */
const STORED_AS = "tollgate.join";

export const isAcceptingInvitation = (): boolean => sessionStorage.getItem(STORED_AS) !== null;

/** Returns the token from the link or from the tab's storage, and removes it from the address bar. */
export function takeInvitationToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) {
    sessionStorage.setItem(STORED_AS, token);
    history.replaceState(history.state, "", location.pathname);
  }
  return sessionStorage.getItem(STORED_AS) ?? "";
}

/** Clears the tab's storage but keeps the invitation, so that the next person who signs in can accept it. */
export function clearStorageExceptInvitation(clear: () => void): void {
  const token = sessionStorage.getItem(STORED_AS);
  clear();
  if (token !== null) sessionStorage.setItem(STORED_AS, token);
}

export const removeInvitationToken = (): void => sessionStorage.removeItem(STORED_AS);
