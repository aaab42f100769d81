/**
 * Reports the rows that a session has changed. Triggers send a description of each change to the session
 * (`gateway/sql/functions/journal_change.sql`). The changes are reported when their transaction has committed, before
 * the query that committed it resolves.
 */
import type pg from "pg";

/** The SQLSTATE of the messages in which triggers describe a change. */
const CHANGE = "TGJ01";

/**
 * A startup option of a gateway's sessions: triggers send the descriptions of a session's changes to that session. In
 * sessions without it, they notify all gateways.
 */
export const CHANGE_NOTICES_STARTUP_OPTION = "-c tollgate.journal=on";

/**
 * The topic of changes made by other programs. A long description is split into several messages: its hash, the number
 * of this part, the number of all parts, and the text of this part.
 */
export const EXTERNAL_CHANGE_TOPIC = "change";

/** pg's internal connection, which its types omit. */
interface Wire {
  connection: {
    on(event: "errorMessage", run: () => void): void;
    on(event: "commandComplete", run: (message: { text: string }) => void): void;
    prependListener(event: "readyForQuery", run: (message: { status: string }) => void): void;
  };
}

export function watchCommittedChanges(client: pg.Client, report: (change: string) => void): void {
  let changes: string[] = [];
  const undo = (): void => {
    changes = [];
  };
  client.on("notice", ({ code, message = "" }) => {
    if (code === CHANGE) changes.push(message);
  });
  const { connection } = client as unknown as Wire;
  connection.on("errorMessage", undo);
  connection.on("commandComplete", ({ text }) => text === "ROLLBACK" && undo());
  // Status "I" (idle): no transaction is open.
  connection.prependListener("readyForQuery", ({ status }) => {
    if (status !== "I" || changes.length === 0) return;
    const committed = changes;
    changes = [];
    for (const change of committed) report(change);
  });
}

/** Joins the parts of long descriptions. An incomplete one, after a lost connection, is dropped. */
export function joinChangeParts(report: (change: string) => void): (text: string | undefined) => void {
  const open = new Map<string, string[]>();
  return (text) => {
    if (text === undefined) return open.clear();
    const [, digest = "", part, parts, content = ""] = /^(\S+) (\d+) (\d+) (.*)$/s.exec(text) ?? [];
    const contents = Number(part) === 1 ? [] : open.get(digest);
    if (contents?.length !== Number(part) - 1) return void open.delete(digest);
    contents.push(content);
    if (part !== parts) return void open.set(digest, contents);
    open.delete(digest);
    report(contents.join(""));
  };
}
