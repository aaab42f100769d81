/** Defines one check of a client, and how the check reads a client's error. */
import assert from "node:assert/strict";
import type { Client, ClientTraits, ShownError } from "./client-interface.ts";
import type { AccountsForClientTests } from "./client-platform.ts";

export interface ClientCheckContext {
  client: Client;
  traits: ClientTraits;
  world: AccountsForClientTests;
  /** Prints a remark to the test's output. */
  note: (text: string) => void;
}

export interface ClientCheck {
  name: string;
  /** The check's column heading in the table of results, if it has one. */
  column: string;
  check: (subject: ClientCheckContext) => Promise<string | undefined>;
}

/** The reason in the table for clients that lack a feature. */
export const CLIENT_LACKS_FEATURE_REASON = "the client has none";

export const makeScriptPrompt = (orders: object): string => `#script ${JSON.stringify(orders)}`;

/** Returns the error that the client raises, and the text that it delivered before. */
export async function expectFailure(client: Client, work: (onText: (text: string) => void) => Promise<unknown>) {
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

export const addErrorNote = ({ note }: ClientCheckContext, { raised, status, code }: ShownError): void =>
  note(`${raised}, status ${status ?? "none"}, code ${code ?? "none"}`);

/** The expected status and code of an error; only the status for a client whose errors lack the code. */
export const makeExpectedError = ({ traits }: ClientCheckContext, [status, code]: [number, string]) =>
  traits.losesCode ? [status, undefined] : [status, code];
