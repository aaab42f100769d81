/**
 * Live numbers for open console pages, as server-sent events. The ledger is read once a second per watched account, for
 * all its pages together, and only changes are sent. Any gateway can serve a page, even if other gateways served the
 * requests.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { MINUTE_MS } from "../../base/time.ts";
import { isRetryableDatabaseError } from "../../db/errors.ts";
import { Fault, fault } from "../../faults.ts";

const LOOK_EVERY_MS = 1_000;
const KEEP_ALIVE_MS = 15_000;
/** A stream ends after 5 minutes; the page then reconnects by itself. */
const STREAM_MS_MAX = 5 * MINUTE_MS;
const VIEWERS_MAX = 50;
const UNREAD_BYTES_MAX = 256 * 1024;
/** The SSE field that makes a page reconnect 2 s after its stream ended. */
const RECONNECT = "retry: 2000\n\n";

/** The data of each event, by the event's name. */
type LiveNumbers = Record<string, unknown>;

interface Viewer {
  show(event: string): void;
  leave(): void;
  /** Checks the viewer's permission again, and ends the stream if it is lost. */
  review(): void;
}

interface Feed {
  viewers: Set<Viewer>;
  /** The last data sent for each event, to skip events that did not change. */
  sent: Map<string, string>;
  stop: () => void;
}

export class LiveFeeds {
  readonly #feeds = new Map<string, Feed>();
  readonly #clock: Clock;
  readonly #log: Log;
  #isClosed = false;

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Opens a stream of the numbers that `read` returns. Streams with the same `name` share the reader. `mayLook` is
   * checked again with every keep-alive and after `review`; a refusal ends the stream. The session may have ended, the
   * account may be suspended, or the member may have been removed.
   */
  open(
    name: string,
    response: ServerResponse,
    { read, mayLook }: { read: () => Promise<LiveNumbers>; mayLook: () => Promise<boolean> },
  ): void {
    // A client that disconnected during authorization emits no close event later.
    if (response.destroyed) return;
    if ((this.#feeds.get(name)?.viewers.size ?? 0) >= VIEWERS_MAX) throw fault("too_many_viewers");
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    const isHead = response.req.method === "HEAD";
    if (this.#isClosed || isHead) {
      response.end(isHead ? undefined : RECONNECT);
      return;
    }
    const feed = this.#feeds.get(name) ?? this.#start(name, read);
    // A page whose client closed its side of the connection must not count as a viewer.
    const { socket } = response;
    const leave = (): void => void response.destroy();
    socket?.once("end", leave);
    const forget = (): void => {
      socket?.off("end", leave);
      stopKeepAlive();
      stopLater();
      feed.viewers.delete(viewer);
      if (feed.viewers.size === 0) this.#end(name, feed);
    };
    const viewer: Viewer = {
      show(event) {
        // A page that stops reading is disconnected. Its browser reconnects when the page is visible again.
        if (response.writableLength > UNREAD_BYTES_MAX) response.destroy();
        else response.write(event);
      },
      leave() {
        // Removes the viewer now: a page that stopped reading emits no close event, and a write after the end would
        // fail.
        forget();
        if (response.writableLength > 0) response.destroy();
        else response.end();
      },
      review: () => void this.#isAllowed(mayLook).then((allowed) => allowed || viewer.leave()),
    };
    feed.viewers.add(viewer);
    const stopKeepAlive = this.#clock.every(KEEP_ALIVE_MS, () => {
      viewer.show(": keep-alive\n\n");
      viewer.review();
    });
    const stopLater = this.#clock.after(STREAM_MS_MAX, () => viewer.leave());
    response.once("close", forget);
    viewer.show(RECONNECT);
    for (const [event, data] of feed.sent) viewer.show(frame(event, data));
  }

  /** Checks the viewers' permission again after the members of this account changed, or of any account if undefined. */
  review(accountId: string | undefined): void {
    for (const [name, { viewers }] of this.#feeds) {
      if (accountId === undefined || name.endsWith(` ${accountId}`)) for (const viewer of viewers) viewer.review();
    }
  }

  /**
   * Ends every stream, because open pages would delay the shutdown; new streams end at once. The pages reconnect to
   * another gateway.
   */
  close(): void {
    this.#isClosed = true;
    for (const [name, feed] of this.#feeds) {
      for (const viewer of feed.viewers) viewer.leave();
      this.#end(name, feed);
    }
  }

  #start(name: string, read: () => Promise<LiveNumbers>): Feed {
    let reading = false;
    const look = (): void => {
      if (reading) return;
      reading = true;
      this.#look(feed, read).finally(() => {
        reading = false;
      });
    };
    const feed: Feed = { viewers: new Set(), sent: new Map(), stop: this.#clock.every(LOOK_EVERY_MS, look) };
    this.#feeds.set(name, feed);
    look();
    return feed;
  }

  async #look(feed: Feed, read: () => Promise<LiveNumbers>): Promise<void> {
    try {
      for (const [event, value] of Object.entries(await read())) {
        const data = JSON.stringify(value);
        if (feed.sent.get(event) === data) continue;
        feed.sent.set(event, data);
        for (const viewer of feed.viewers) viewer.show(frame(event, data));
      }
    } catch (error) {
      const level = isRetryableDatabaseError(error) ? "debug" : "warn";
      this.#log[level](
        { err: error instanceof Fault ? error.message : error },
        "could not read the live figures of a console page",
      );
    }
  }

  async #isAllowed(mayLook: () => Promise<boolean>): Promise<boolean> {
    try {
      return await mayLook();
    } catch (error) {
      // Without the database there are no new numbers to send, so the check waits for the next keep-alive.
      if (isRetryableDatabaseError(error)) return true;
      if (!(error instanceof Fault))
        this.#log.warn({ err: error }, "could not check whether a viewer of live figures still has access");
      return false;
    }
  }

  #end(name: string, feed: Feed): void {
    feed.stop();
    // A newer feed may already be registered with this name.
    if (this.#feeds.get(name) === feed) this.#feeds.delete(name);
  }
}

const frame = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;
