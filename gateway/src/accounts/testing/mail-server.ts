/** Test helper: a mail server with enough SMTP to receive emails. It returns them in order of arrival. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";

export interface ReceivedEmail {
  from: string;
  to: string[];
  /** The headers and the body, with soft line breaks removed. */
  text: string;
}

export interface TestMailbox {
  url: string;
  /** Resolves with the next received email. */
  next(): Promise<ReceivedEmail>;
  /** How many received emails `next` has not returned yet. */
  waiting(): number;
  /** Makes the server refuse every recipient with this line from now on. */
  refuseWith(line: string): void;
  close(): Promise<void>;
}

export async function openTestMailbox(): Promise<TestMailbox> {
  const letters: ReceivedEmail[] = [];
  const readers: ((letter: ReceivedEmail) => void)[] = [];
  const sockets = new Set<Socket>();
  let refusal: string | undefined;
  const take = (letter: ReceivedEmail): void => {
    const reader = readers.shift();
    if (reader === undefined) letters.push(letter);
    else reader(letter);
  };
  const server = createServer((socket) => {
    sockets.add(socket.once("close", () => sockets.delete(socket)));
    converse(socket, take, () => refusal);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    url: `smtp://127.0.0.1:${port}`,
    next: async () => letters.shift() ?? (await new Promise((resolve) => readers.push(resolve))),
    waiting: () => letters.length,
    refuseWith(line) {
      refusal = line;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function converse(socket: Socket, take: (letter: ReceivedEmail) => void, refusal: () => string | undefined): void {
  const say = (line: string): unknown => socket.write(`${line}\r\n`);
  let letter: ReceivedEmail = { from: "", to: [], text: "" };
  let data: string[] | undefined;
  say("220 mail.test ESMTP");
  createInterface({ input: socket }).on("line", (line) => {
    if (data !== undefined) {
      if (line !== ".") {
        data.push(line.replace(/^\.\./, "."));
        return;
      }
      take({ ...letter, text: data.join("\n").replaceAll("=\n", "").replaceAll("=3D", "=") });
      [letter, data] = [{ from: "", to: [], text: "" }, undefined];
      say("250 kept");
      return;
    }
    const [verb = ""] = line.toUpperCase().split(/[ :]/);
    const address = /<([^>]*)>/.exec(line)?.[1] ?? "";
    if (verb === "EHLO" || verb === "HELO") say("250 mail.test");
    else if (verb === "MAIL") {
      letter.from = address;
      say("250 ok");
    } else if (verb === "RCPT") {
      letter.to.push(address);
      say(refusal() ?? "250 ok");
    } else if (verb === "DATA") {
      data = [];
      say("354 go on");
    } else if (verb === "QUIT") {
      say("221 bye");
      socket.end();
    } else say("250 ok");
  });
}
