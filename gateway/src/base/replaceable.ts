/**
 * A secret that can be replaced while gateways serve. What is made now is made with the current one; what was made with another is
 * taken too. The next one comes first: gateways that have it make nothing with it, but take what those make that have changed already.
 */
export interface Replaceable {
  current: string;
  /** The one before it. */
  old?: string;
  /** The one that will take its place. */
  next?: string;
}

/** Beside the current one. */
export const othersOf = ({ old, next }: Replaceable): string[] => [old, next].filter((secret) => secret !== undefined);
