/** Limits that the API documentation states and the routes enforce. */

/** The maximum number of accounts per identity. */
export const ACCOUNTS_PER_IDENTITY_MAX = 20;
/** The maximum number of accounts of other owners that an identity may join. */
export const JOINED_ACCOUNTS_MAX = 50;
/** The maximum number of people per account, including owners. */
export const TEAM_MEMBERS_MAX = 50;
/** The maximum number of open invitations per account. */
export const OPEN_INVITATIONS_MAX = 20;
export const INVITATION_VALID_DAYS = 7;
/** The maximum number of active API keys per account. */
export const ACTIVE_KEYS_MAX = 500;
export const ACTIVE_HOST_TOKENS_MAX = 100;
/** The maximum number of unpaid checkouts per account and hour. */
export const OPEN_CHECKOUTS_MAX = 10;
/** The minimum time between two automatic purchases (top-ups) of an account, in seconds. */
export const TOP_UP_INTERVAL_MIN_S = 600;
export const PASSWORD_CHARS_MIN = 8;
export const PASSWORD_CHARS_MAX = 128;
export const NOTIFICATION_TESTS_PER_HOUR = 10;
