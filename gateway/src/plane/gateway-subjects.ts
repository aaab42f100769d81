/**
 * The subjects of messages between gateways, on any plane. Node credentials (`nodePermissions`) do not cover them, and gateways of earlier
 * versions do not subscribe to them.
 */

/** To all gateways: signs of life, and what each sees of the nodes. */
export const PEERS = "tg.p";
/** To one gateway. */
export const toPeer = (gatewayId: string): string => `${PEERS}.${gatewayId}`;

/** To all gateways: the database history that the sender follows. */
export const HISTORIES = "tg.h";

/** To all gateways: asks whether their database has a mark. */
export const DEPLOYMENTS = "tg.d";
/** To the gateway that asked. */
export const toAsker = (gatewayId: string): string => `${DEPLOYMENTS}.${gatewayId}`;
