/** The platform under test, with what all ways of sending need to know. */
export interface Target {
  port: number;
  key: string;
}

/** A request got no answer, or one that cannot be parsed. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
}
