/** A proxy between browser and platform that records API responses. */
import { createServer, request as forward, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { RecordedEvent, RecordedResponse, Role } from "./recording-files.ts";

/** The APIs that pages use. A replay serves everything else from the sources. */
const RECORDED = /^\/(console\/api|v1|status\.json)/;
/** The maximum number of recorded events of an endless stream. */
const EVENTS_MAX = 12;

interface RecordingProxy {
  baseUrl: string;
  /** Records responses for this role from now on. If undefined, requests are only forwarded. */
  recordAs(role: Role | undefined): void;
  /** The number of unfinished responses, except streams. */
  pending(): number;
  /**
   * The last complete response to each request, not the first: a list that was loaded several times must contain every
   * entry that was opened from it.
   */
  answers(): RecordedResponse[];
  close(): Promise<void>;
}

export async function startRecordingProxy(platformUrl: string): Promise<RecordingProxy> {
  const answers = new Map<string, RecordedResponse>();
  const pending = new Set<IncomingMessage>();
  let role: Role | undefined;
  const server = createServer((asked, answer) => {
    const { method = "GET", url = "/", headers } = asked;
    const as = RECORDED.test(url) ? role : undefined;
    const sentBytes = as === undefined ? undefined : collect(asked);
    if (as !== undefined) pending.add(asked);
    const onward = forward(`${platformUrl}${url}`, { method, headers: withoutEncoding(headers) }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
      if (as === undefined) return;
      const pieces = collect(got);
      const isStream = got.headers["content-type"]?.startsWith("text/event-stream") ?? false;
      if (isStream) pending.delete(asked);
      const keep = (): void => {
        if (!got.complete && !isStream) return;
        const sent = sentBytes?.toString() ?? "";
        const key = `${as} ${method} ${url} ${sent}`;
        const content = contentOf(got.headers["content-type"] ?? "", pieces.toString());
        // Keeps the longer recording of a stream, because a page that was left at once received only its beginning.
        if ((answers.get(key)?.events?.length ?? 0) > (content.events?.length ?? 0)) return;
        answers.set(key, {
          as,
          request: `${method} ${url}`,
          ...(sent !== "" && { sent: JSON.parse(sent) }),
          status: got.statusCode ?? 0,
          ...content,
        });
      };
      // When the browser leaves a page, its streams end. Their events so far are recorded.
      got.once("close", keep);
    });
    onward.on("error", () => answer.destroy());
    answer.once("close", () => {
      pending.delete(asked);
      onward.destroy();
    });
    asked.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    recordAs: (next) => {
      role = next;
    },
    pending: () => pending.size,
    answers: () => [...answers.values()],
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const withoutEncoding = ({ "accept-encoding": _, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders => headers;

function collect(message: IncomingMessage): { toString(): string } {
  const pieces: Buffer[] = [];
  message.on("data", (piece: Buffer) => pieces.push(piece));
  return { toString: () => Buffer.concat(pieces).toString() };
}

function contentOf(type: string, text: string): Pick<RecordedResponse, "body" | "events"> {
  if (type.startsWith("text/event-stream")) return { events: eventsIn(text).slice(0, EVENTS_MAX) };
  return type.startsWith("application/json") ? { body: JSON.parse(text) } : { body: text };
}

/** The complete events of a stream. */
function eventsIn(text: string): RecordedEvent[] {
  const blocks = text.split("\n\n").slice(0, -1);
  return blocks.flatMap((block) => {
    const field = (name: string): string | undefined =>
      block
        .split("\n")
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const [event, data] = [field("event"), field("data")];
    if (data === undefined) return [];
    return [{ ...(event !== undefined && { event }), data: data.startsWith("{") ? JSON.parse(data) : data }];
  });
}
