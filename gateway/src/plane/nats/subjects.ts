/**
 * Subjects of a NATS server that only gateways use. Those of the system account are brought into the gateways' account by
 * imports, which `setup.ts` writes: what is served there needs no connection of its own, and a node's end is heard on the
 * same connection as its last words, after them.
 */

/** Nodes that connect and disconnect: `CONNECT` or `DISCONNECT` in place of the star. */
export const EVENTS = "tg.e.*";
export const EVENT_CONNECT = "tg.e.CONNECT";
export const EVENT_DISCONNECT = "tg.e.DISCONNECT";
/** Answers with the account's JWT as the servers have it. */
export const ACCOUNT_LOOKUP = "tg.c.lookup";
/** Gateways tell each other here what they are about to revoke. */
export const REVOCATIONS = "tg.r";
/** Where answers to a gateway's own questions arrive. */
export const INBOX_PREFIX = "tg.i";

/** Everything a gateway may publish and subscribe to. */
export const GATEWAY_SUBJECTS = "tg.>";
/** Every server with connections of the account answers for itself; servers offer it to every account. */
export const SERVERS_ASKED = "$SYS.REQ.ACCOUNT.PING.STATZ";
/** Where they answer this gateway. */
export const serversAnswer = (gatewayId: string): string => `tg.v.${gatewayId}`;

/** On the system account: takes a new version of an account's JWT. */
export const CLAIMS_UPDATE = "$SYS.REQ.CLAIMS.UPDATE";
export const systemEvents = (account: string): string => `$SYS.ACCOUNT.${account}.*`;
export const systemLookup = (account: string): string => `$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`;
