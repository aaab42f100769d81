/** One thing that a client must show, and how a failure is read. */
import assert from "node:assert/strict";
import type { Client, Seen, Traits } from "./client.ts";
import type { World } from "./world.ts";

export interface Subject {
  client: Client;
  traits: Traits;
  world: World;
  /** Something worth telling a reader of the test's output. */
  note: (text: string) => void;
}

export interface Behaviour {
  name: string;
  /** The heading of its column, where it has one. */
  column: string;
  check: (subject: Subject) => Promise<string | undefined>;
}

/** Why a client shows nothing of a behaviour. */
export const NONE = "the client has none";

export const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;

/** What the client raises, and the text that came before. */
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

/** Status and code of a failure; of a client that loses the code, the status alone. */
export const told = ({ traits }: Subject, [status, code]: [number, string]) =>
  traits.losesCode ? [status, undefined] : [status, code];
