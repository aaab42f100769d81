/** The platform under test: its port and its key. */
export interface Target {
  port: number;
  key: string;
}

/** A request got no answer, or one that cannot be parsed. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
}
