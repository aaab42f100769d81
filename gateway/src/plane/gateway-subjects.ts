/**
 * The subjects of messages between gateways, on any plane. Node credentials (`nodePermissions`) do not cover them, and gateways of earlier
 * versions do not subscribe to them.
 */

/** For messages to all gateways: signs of life, and observations of nodes. */
export const PEERS_SUBJECT = "tg.p";
/** To one gateway. */
export const toPeer = (gatewayId: string): string => `${PEERS_SUBJECT}.${gatewayId}`;

/** To all gateways: the database history that the sender follows. */
export const HISTORIES_SUBJECT = "tg.h";

/** To all gateways: asks whether their database has a mark. */
export const DEPLOYMENTS_SUBJECT = "tg.d";
/** To the gateway that asked. */
export const toAsker = (gatewayId: string): string => `${DEPLOYMENTS_SUBJECT}.${gatewayId}`;
