/**
 * Posts to a URL that a user chose. Every resolved address is checked at connection time, so DNS rebinding gains nothing. Redirects are
 * not followed, and time and response are limited.
 */
import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Clock } from "../base/clock.ts";
import { type AddressRule, hostOf } from "./addresses.ts";

const ANSWER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/** Resolves with the response's status; throws without a response. */
export type Post = (url: string, parts: { headers: Record<string, string>; body: string }) => Promise<number>;

/** Nothing was sent, because webhooks must not be sent to this address. */
export class AddressRefused extends Error {
  override name = "AddressRefused";
}

type LookUp = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

interface PostOptions {
  allows: AddressRule;
  allowsHttp: boolean;
  clock: Clock;
  /** For tests. */
  lookUp?: LookUp;
  /** For tests: authorities beside the system's. */
  ca?: string;
}

export function openPost({ allows, allowsHttp, clock, lookUp = lookup, ca }: PostOptions): Post {
  /** Every address of the name must be allowed. */
  const checkedLookup: LookupFunction = (host, options, done) =>
    lookUp(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, "");
      const [first] = addresses;
      const wrong = addresses.find(({ address }) => !allows(address));
      if (first === undefined || wrong !== undefined) return done(new AddressRefused(NOT_PUBLIC), "");
      return options.all === true ? done(null, addresses) : done(null, first.address, first.family);
    });

  return (text, { headers, body }) =>
    new Promise((resolve, reject) => {
      const url = new URL(text);
      const host = hostOf(url);
      if (url.protocol !== "https:" && !allowsHttp) return reject(new AddressRefused("The address must use https."));
      // A literal address does not pass through `lookup`.
      if (isIP(host) !== 0 && !allows(host)) return reject(new AddressRefused(NOT_PUBLIC));
      const send = url.protocol === "https:" ? requestHttps : requestHttp;
      const request = send(url, {
        method: "POST",
        // No connection is kept, and none is shared with other parts.
        agent: false,
        lookup: checkedLookup,
        headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
        ...(ca !== undefined && { ca }),
      });
      const stop = clock.after(ANSWER_MS_MAX, () =>
        request.destroy(new Error(`no complete response within ${ANSWER_MS_MAX / 1000} s`)),
      );
      const end = (error?: Error): void => {
        stop();
        if (error !== undefined) reject(error);
      };
      request.on("error", end);
      // Handles any other end, such as an upgrade. No effect after an answer or an error.
      request.on("close", () => end(new Error("the connection was closed")));
      request.on("response", (answer) => {
        let bytes = 0;
        answer.on("error", end);
        answer.on("data", (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > ANSWER_BYTES_MAX)
            request.destroy(new Error(`the response is larger than ${ANSWER_BYTES_MAX / 1024} KiB`));
        });
        answer.on("end", () => {
          end();
          resolve(answer.statusCode ?? 0);
        });
      });
      request.end(body);
    });
}

const NOT_PUBLIC = "The address is not on the public internet.";
