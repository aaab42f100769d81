/** The limits that the documentation states and the routes enforce. */

/** Accounts of one identity. */
export const ACCOUNTS_MAX = 20;
/** Accounts of others that one identity was invited to. */
export const MEMBERSHIPS_MAX = 50;
/** People of one account, its owners among them. */
export const TEAM_MAX = 50;
/** Invitations to one account that no one has answered. */
export const OPEN_INVITATIONS_MAX = 20;
export const INVITATION_DAYS = 7;
/** Secrets of one account that work at once. */
export const OPEN_KEYS_MAX = 500;
export const OPEN_HOST_TOKENS_MAX = 100;
/** Checkouts of one account within an hour that no one has paid. */
export const OPEN_CHECKOUTS_MAX = 10;
/** Automatic purchases of one account are so far apart at least. */
export const TOP_UP_APART_S = 600;
export const PASSWORD_CHARS_MIN = 8;
export const PASSWORD_CHARS_MAX = 128;
/** Test notifications of one account. */
export const NOTIFICATION_TESTS_PER_HOUR = 10;
