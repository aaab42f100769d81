/**
 * A secret that can be replaced while gateways run. Gateways use the current secret for new tokens and signatures, and
 * also accept those made with the previous or the next secret. The next secret is configured first, so that gateways
 * accept tokens of gateways that have already changed to it.
 */
export interface RotatingSecret {
  current: string;
  /** The previous secret. */
  old?: string;
  /** The secret that will replace the current one. */
  next?: string;
}

/** The previous and the next secret, if configured. */
export const listOtherSecrets = ({ old, next }: RotatingSecret): string[] =>
  [old, next].filter((secret) => secret !== undefined);
