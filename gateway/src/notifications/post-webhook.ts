/**
 * Posts to a URL that a user chose. Every resolved address is checked when connecting, so DNS rebinding does not help
 * an attacker. Redirects are not followed, and time and response size are limited.
 */
import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Clock } from "../base/clock.ts";
import { type AddressRule, extractHost } from "./webhook-addresses.ts";

const ANSWER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/** Resolves to the response's status. Throws an error without a response. */
export type PostWebhook = (url: string, parts: { headers: Record<string, string>; body: string }) => Promise<number>;

/** Webhooks must not be sent to this address, so nothing was sent. */
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
  /** Replaces DNS in tests. */
  lookUp?: LookUp;
}

export function createWebhookPoster({ allows, allowsHttp, clock, lookUp = lookup }: PostOptions): PostWebhook {
  /** Resolves a name, and fails unless all its addresses are allowed. */
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
      const host = extractHost(url);
      if (url.protocol !== "https:" && !allowsHttp) return reject(new AddressRefused("The address must use https."));
      // Checked here, because an IP address in the URL does not pass through `lookup`.
      if (isIP(host) !== 0 && !allows(host)) return reject(new AddressRefused(NOT_PUBLIC));
      const send = url.protocol === "https:" ? requestHttps : requestHttp;
      const request = send(url, {
        method: "POST",
        // Every request has its own connection, which no other part shares or reuses.
        agent: false,
        lookup: checkedLookup,
        headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      });
      const stop = clock.after(ANSWER_MS_MAX, () =>
        request.destroy(new Error(`no complete response within ${ANSWER_MS_MAX / 1000} s`)),
      );
      const end = (error?: Error): void => {
        stop();
        if (error !== undefined) reject(error);
      };
      request.on("error", end);
      // Handles any other end, such as a protocol upgrade. Has no effect after a response or an error.
      request.on("close", () => end(new Error("the connection was closed before the response was complete")));
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
