/**
 * The subjects of messages between gateways, on any plane. Node credentials (`nodePermissions`) do not cover them, and
 * gateways of earlier versions do not subscribe to them.
 */

/** Messages to all gateways: heartbeats, and observations of nodes. */
export const PEERS_SUBJECT = "tg.p";
/** Messages to one gateway. */
export const peerSubject = (gatewayId: string): string => `${PEERS_SUBJECT}.${gatewayId}`;

/** To all gateways: the sender's database history, which a failover changes. */
export const DATABASE_HISTORIES_SUBJECT = "tg.h";

/** To all gateways: asks whether their database contains the mark that the sender wrote into its own database. */
export const DEPLOYMENTS_SUBJECT = "tg.d";
/** The replies to a gateway's question on `DEPLOYMENTS_SUBJECT`, which are sent to this gateway only. */
export const deploymentReplySubject = (gatewayId: string): string => `${DEPLOYMENTS_SUBJECT}.${gatewayId}`;
