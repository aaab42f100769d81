/** The request header that names the account for which a console API call is made. */
export const ACCOUNT_HEADER = "x-tollgate-account";
