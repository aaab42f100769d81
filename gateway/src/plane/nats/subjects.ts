/**
 * NATS subjects that only gateways use. Subjects of the system account are imported into the gateways' account (`setup.ts`). So they need
 * no second connection, and a node's disconnection arrives on the same connection as its last messages, after them.
 */

/** Connections and disconnections of nodes: `CONNECT` or `DISCONNECT` in place of the star. */
export const EVENTS = "tg.e.*";
export const EVENT_CONNECT = "tg.e.CONNECT";
export const EVENT_DISCONNECT = "tg.e.DISCONNECT";
/** Returns the account's JWT as the servers have it. */
export const ACCOUNT_LOOKUP = "tg.c.lookup";
/** Gateways announce here what they are about to revoke. */
export const REVOCATIONS = "tg.r";
/** The prefix of the subjects on which a gateway receives answers. */
export const INBOX_PREFIX = "tg.i";

/** All subjects that a gateway may use. */
export const GATEWAY_SUBJECTS = "tg.>";
/** Every server with connections of the account answers; servers offer it to every account. */
export const SERVERS_ASKED = "$SYS.REQ.ACCOUNT.PING.STATZ";
/** The subject of their answers to one ping of this gateway; `*`: to any. */
export const serversAnswer = (gatewayId: string, ping: number | "*"): string => `tg.v.${gatewayId}.${ping}`;
export const pingAnswered = (subject: string): number => Number(subject.slice(subject.lastIndexOf(".") + 1));

/** On the system account: takes a new version of an account's JWT. */
export const CLAIMS_UPDATE = "$SYS.REQ.CLAIMS.UPDATE";
export const systemEvents = (account: string): string => `$SYS.ACCOUNT.${account}.*`;
export const systemLookup = (account: string): string => `$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`;
