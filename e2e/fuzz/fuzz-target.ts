/** The platform under test: its port and its key. */
export interface FuzzTarget {
  port: number;
  key: string;
}

/** A request got no answer, or one that cannot be parsed. */
export class NoValidResponseError extends Error {
  override name = "NoValidResponseError";
}
