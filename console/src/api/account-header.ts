/** Names the account that a call acts for. */
export const ACCOUNT_HEADER = "x-tollgate-account";
