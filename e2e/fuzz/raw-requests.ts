/** Parts from which requests for a bare socket are built. */

import type { ExpectedResponse } from "./expected-response.ts";
import { FUZZ_API_KEY, type SocketFuzzCase } from "./fuzz-case.ts";
import { writeJson } from "./raw-json.ts";
import { drawValidBody, ENDPOINTS, type Endpoint, PATH_BY_ENDPOINT } from "./request-bodies.ts";
import type { SeededChoices } from "./seeded-choices.ts";

export const HOST_HEADER = "host: fuzz";
export const AUTHORIZATION_HEADER = `authorization: Bearer ${FUZZ_API_KEY}`;

export function makeHead(line: string, ...headers: string[]): Buffer {
  return Buffer.from([line, HOST_HEADER, AUTHORIZATION_HEADER, ...headers, "", ""].join("\r\n"), "latin1");
}

export const makePostHead = (endpoint: Endpoint, ...headers: string[]): Buffer =>
  makeHead(`POST ${PATH_BY_ENDPOINT[endpoint]} HTTP/1.1`, ...headers);

interface Post {
  endpoint: Endpoint;
  body: Buffer;
}

export function makeAnyPost(random: SeededChoices): Post {
  const endpoint = random.pick(ENDPOINTS);
  return { endpoint, body: Buffer.from(writeJson(drawValidBody(random, endpoint))) };
}

export function makeListeningCase(pieces: Buffer[], ...answers: ExpectedResponse[][]): SocketFuzzCase {
  return { via: "socket", pieces, afterwards: "listen", answers };
}

/** Cuts bytes at random places. */
export function cutRandomly(random: SeededChoices, bytes: Buffer, countMax: number): Buffer[] {
  const at = [0, ...random.times(0, countMax, () => random.between(0, bytes.length)), bytes.length].sort(
    (a, b) => a - b,
  );
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}
