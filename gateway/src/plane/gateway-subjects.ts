/**
 * Subjects on which gateways speak with each other, on whichever plane. They lie outside of what a node's credentials allow
 * (`nodePermissions`), and a gateway of an earlier version has no one listening there.
 */

/** To all: signs of life, and what each of them sees of the nodes. */
export const PEERS = "tg.p";
/** To one. */
export const toPeer = (gatewayId: string): string => `${PEERS}.${gatewayId}`;

/** To all: the database history that a gateway follows. */
export const HISTORIES = "tg.h";

/** To all: does your database have this mark? */
export const DEPLOYMENTS = "tg.d";
/** To the one that asked. */
export const toAsker = (gatewayId: string): string => `${DEPLOYMENTS}.${gatewayId}`;
