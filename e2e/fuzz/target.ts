/** The platform under fire, and what every way of sending has to know of it. */
export interface Target {
  port: number;
  key: string;
}

/** A request got no answer, or one that cannot be read. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
}
