/**
 * Shares one event stream among all visible pages of a browser. A browser opens at most six connections to an HTTP/1.1
 * server, so with a stream for each page, six pages would leave no connection for any other request. The page that holds
 * the stream's lock reads it and passes events on; when it closes, the next page takes the lock.
 */
import { openEventStream, type ServerEvent, type StreamOptions } from "./event-stream.ts";

type State = { open: boolean } | { refused: number };
/** `to`: the only page that the message is for. */
type Message = ({ event: ServerEvent } | State) & { to?: string };
/** A page that opened later asks for the state and the latest events. */
interface Question {
  ask: string;
}

interface SharedStreamOptions extends StreamOptions {
  /**
   * Whose stream it is: the person and the account. A page that a person left open must not send events to a page on which
   * somebody else signed in since.
   */
  owner: string;
}

/** Opens the stream, or joins the one that another page of its owner reads. Returns a function that leaves it. */
export function openSharedEventStream({ owner, ...options }: SharedStreamOptions): () => void {
  // Browsers offer locks only to pages loaded over HTTPS or from this machine. Other pages have a stream each.
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined) return openEventStream(options);
  const name = `event stream ${options.url} ${JSON.stringify(options.headers)} ${owner}`;
  const over = new AbortController();
  const channel = new BroadcastChannel(name);
  const page = crypto.randomUUID();
  const post = (message: Message | Question): void => channel.postMessage(message);
  const take = (message: Message | Question): void => {
    if ("ask" in message || (message.to !== undefined && message.to !== page)) return;
    if ("event" in message) options.on(message.event);
    if ("open" in message) options.onState(message.open);
    if ("refused" in message) options.onRefused(message.refused);
  };
  channel.onmessage = ({ data }: MessageEvent<Message | Question>) => take(data);
  post({ ask: page });

  /** Reads the stream until this page leaves. */
  const read = async (): Promise<void> => {
    // Chromium grants a page's first lock even if the page aborts the request meanwhile.
    if (over.signal.aborted) return;
    const events = new Map<string, ServerEvent>();
    let state: State | undefined;
    const share = (message: Message): void => {
      take(message);
      post(message);
    };
    const become = (now: State): void => {
      state = now;
      share(now);
    };
    channel.onmessage = ({ data }: MessageEvent<Message | Question>) => {
      if (!("ask" in data)) return;
      if (state !== undefined) post({ ...state, to: data.ask });
      for (const event of events.values()) post({ event, to: data.ask });
    };
    const close = openEventStream({
      ...options,
      on(event) {
        events.set(event.event, event);
        share({ event });
      },
      onState: (open) => become({ open }),
      onRefused: (refused) => become({ refused }),
    });
    await new Promise<void>((left) => {
      over.signal.addEventListener("abort", () => {
        close();
        left();
      });
    });
  };
  locks.request(name, { signal: over.signal }, read).catch((error: unknown) => {
    // A page that leaves while it waits for the lock stops waiting.
    if (!over.signal.aborted) throw error;
  });
  return () => {
    over.abort();
    channel.close();
  };
}
