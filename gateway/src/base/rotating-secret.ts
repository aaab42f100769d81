/**
 * A secret that can be replaced while gateways run. New values use the current one; values made with the previous or the next one are
 * accepted too. The next one is configured first, so that gateways accept what already changed gateways issue.
 */
export interface RotatingSecret {
  current: string;
  /** The previous secret. */
  old?: string;
  /** The secret that will replace the current one. */
  next?: string;
}

/** The previous and the next secret. */
export const otherSecretsOf = ({ old, next }: RotatingSecret): string[] =>
  [old, next].filter((secret) => secret !== undefined);
