/** Defines one check of a client, and how the check reads a client's error. */
import assert from "node:assert/strict";
import type { Client, Seen, Traits } from "./client.ts";
import type { World } from "./world.ts";

export interface Subject {
  client: Client;
  traits: Traits;
  world: World;
  /** Prints a remark to the test's output. */
  note: (text: string) => void;
}

export interface Behaviour {
  name: string;
  /** The check's column heading in the table of results, if it has one. */
  column: string;
  check: (subject: Subject) => Promise<string | undefined>;
}

/** The reason in the table for clients that lack a feature. */
export const NONE = "the client has none";

export const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;

/** Returns the error that the client raises, and the text that it delivered before. */
export async function failure(client: Client, work: (onText: (text: string) => void) => Promise<unknown>) {
  let text = "";
  const keep = (piece: string): void => {
    text += piece;
  };
  const result = await work(keep).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!("error" in result)) assert.fail(`nothing was raised; it answered ${JSON.stringify(result.value)}`);
  return { ...client.seen(result.error), text };
}

export const record = ({ note }: Subject, { raised, status, code }: Seen): void =>
  note(`${raised}, status ${status ?? "none"}, code ${code ?? "none"}`);

/** The expected status and code of an error; only the status for a client whose errors lack the code. */
export const told = ({ traits }: Subject, [status, code]: [number, string]) =>
  traits.losesCode ? [status, undefined] : [status, code];
