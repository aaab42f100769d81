/**
 * NATS subjects that only gateways use. `plane-setup.ts` imports the system account's subjects into the gateways' account. So
 * gateways need no second connection, and a node's disconnection arrives after its last messages, on the same
 * connection.
 */

/** Connections and disconnections of nodes. The star stands for `CONNECT` or `DISCONNECT`. */
export const NODE_EVENTS_SUBJECT = "tg.e.*";
export const CONNECT_EVENT_SUBJECT = "tg.e.CONNECT";
export const DISCONNECT_EVENT_SUBJECT = "tg.e.DISCONNECT";
/** A request for the account's JWT on the servers. */
export const ACCOUNT_LOOKUP_SUBJECT = "tg.c.lookup";
/** Announcements of revocations that a gateway is about to write. */
export const REVOCATIONS_SUBJECT = "tg.r";
/** The prefix of the subjects on which a gateway receives replies. */
export const INBOX_PREFIX = "tg.i";

/** All subjects that a gateway may use. */
export const GATEWAY_SUBJECTS = "tg.>";
/** A ping that every server with connections of the account answers. The servers offer it to every account. */
export const PING_SERVERS_SUBJECT = "$SYS.REQ.ACCOUNT.PING.STATZ";
/** The subject of the answers to one ping of this gateway. `*`: to any of its pings. */
export const pingAnswerSubject = (gatewayId: string, ping: number | "*"): string => `tg.v.${gatewayId}.${ping}`;
export const parsePingNumber = (subject: string): number => Number(subject.slice(subject.lastIndexOf(".") + 1));

/** On the system account: a new version of an account's JWT. */
export const CLAIMS_UPDATE_SUBJECT = "$SYS.REQ.CLAIMS.UPDATE";
export const systemEventsSubject = (account: string): string => `$SYS.ACCOUNT.${account}.*`;
export const systemLookupSubject = (account: string): string => `$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`;
