/**
 * Test helper: an OpenID provider with discovery, a token endpoint that checks the client, the redirect and PKCE, ID
 * tokens signed with RS256, and UserInfo. Tests can make it return wrong tokens and responses.
 */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { OidcProvider } from "../oidc.ts";

export interface OpenIdPerson {
  sub: string;
  [claim: string]: unknown;
}

/** Faults that the provider adds to its tokens and responses. */
export interface ProviderFaults {
  /** Overrides claims of the ID token. */
  claims?: Record<string, unknown>;
  /** Overrides claims of UserInfo. */
  userInfo?: Record<string, unknown>;
  /** The status that these endpoints return instead of 200. */
  status?: { token?: number; userInfo?: number; jwks?: number };
  /** Signs the ID token with an unpublished key. */
  otherKey?: boolean;
  unsigned?: boolean;
  noIdToken?: boolean;
}

export interface TestOpenIdProvider {
  provider: OidcProvider;
  /** Signs the person in at the authorization URL. Returns the URL that the provider redirects to. */
  signIn(authorizationUrl: string, person: OpenIdPerson, mischief?: ProviderFaults): Promise<URL>;
  /** Refuses the sign-in at the authorization URL. Returns the URL that the provider redirects to. */
  refuse(authorizationUrl: string): URL;
  /** The latest response of the token endpoint. */
  lastTokens(): Record<string, unknown>;
  /** Makes the discovery document name another issuer. */
  speakFor(issuer: string): void;
  close(): Promise<void>;
}

interface Grant {
  person: OpenIdPerson;
  mischief: ProviderFaults;
  asked: URLSearchParams;
}

const CLIENT = { clientId: "tollgate-test", clientSecret: "client-secret-of-tests" };
const BASIC = Buffer.from(`${CLIENT.clientId}:${CLIENT.clientSecret}`).toString("base64");

export async function openTestOpenIdProvider(): Promise<TestOpenIdProvider> {
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const otherKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const grants = new Map<string, Grant>();
  /** The granted sign-ins, by access token. */
  const granted = new Map<string, Grant>();
  let jwksStatus: number | undefined;
  let lastTokens: Record<string, unknown> = {};
  let spokenFor: string | undefined;

  const server = createServer(async (request, response) => {
    const issuer = `http://${request.headers.host}`;
    const answers: Record<string, () => Promise<object> | object> = {
      "/.well-known/openid-configuration": () => ({
        issuer: spokenFor ?? issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/userinfo`,
        id_token_signing_alg_values_supported: ["RS256"],
      }),
      "/jwks": () => {
        check(jwksStatus === undefined, "server_error", jwksStatus);
        return { keys: [{ ...createPublicKey(key).export({ format: "jwk" }), kid: "one", alg: "RS256" }] };
      },
      "/token": () => exchange(request, issuer),
      "/userinfo": () => {
        const grant = granted.get(request.headers.authorization?.replace("Bearer ", "") ?? "");
        check(grant !== undefined, "invalid_token", 401);
        const { person, mischief } = grant as Grant;
        check(mischief.status?.userInfo === undefined, "server_error", mischief.status?.userInfo);
        return { ...person, ...mischief.userInfo };
      },
    };
    const answer = answers[request.url ?? ""];
    await respond(response, answer);
  });

  /** Handles a token request. Throws if the token endpoint must refuse it. */
  async function exchange(request: IncomingMessage, issuer: string): Promise<object> {
    const form = new URLSearchParams(await text(request));
    check(request.headers.authorization === `Basic ${BASIC}`, "invalid_client");
    const grant = grants.get(form.get("code") ?? "");
    check(grant !== undefined, "invalid_grant");
    grants.delete(form.get("code") ?? "");
    const { asked, person, mischief } = grant as Grant;
    check(mischief.status?.token === undefined, "server_error", mischief.status?.token);
    jwksStatus = mischief.status?.jwks;
    check(form.get("redirect_uri") === asked.get("redirect_uri"), "invalid_grant");
    check(asked.get("code_challenge_method") === "S256", "invalid_request");
    const proof = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    check(proof === asked.get("code_challenge"), "invalid_grant");
    const nowS = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: CLIENT.clientId, iat: nowS, exp: nowS + 300, nonce: asked.get("nonce") };
    const idToken = signed({ ...claims, ...person, ...mischief.claims }, mischief);
    const accessToken = randomBytes(16).toString("hex");
    granted.set(accessToken, grant as Grant);
    lastTokens = {
      access_token: accessToken,
      refresh_token: randomBytes(16).toString("hex"),
      token_type: "Bearer",
      expires_in: 300,
      ...(mischief.noIdToken !== true && { id_token: idToken }),
    };
    return lastTokens;
  }

  function signed(claims: object, mischief: ProviderFaults): string {
    const header = mischief.unsigned === true ? { alg: "none" } : { alg: "RS256", kid: "one" };
    const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    const signer: KeyObject = mischief.otherKey === true ? otherKey : key;
    const signature =
      mischief.unsigned === true ? "" : sign("sha256", Buffer.from(input), signer).toString("base64url");
    return `${input}.${signature}`;
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const issuer = `http://127.0.0.1:${port}`;
  const back = (authorizationUrl: string, answer: Record<string, string>): URL => {
    const asked = new URL(authorizationUrl).searchParams;
    const url = new URL(asked.get("redirect_uri") ?? "");
    for (const [name, value] of Object.entries({ state: asked.get("state") ?? "", iss: issuer, ...answer })) {
      url.searchParams.set(name, value);
    }
    return url;
  };
  return {
    provider: { id: "test", name: "Test provider", issuer, ...CLIENT, trustEmail: false },
    async signIn(authorizationUrl, person, mischief = {}) {
      const code = randomBytes(12).toString("hex");
      grants.set(code, { person, mischief, asked: new URL(authorizationUrl).searchParams });
      return back(authorizationUrl, { code });
    },
    refuse: (authorizationUrl) => back(authorizationUrl, { error: "access_denied", error_description: "<b>no</b>" }),
    lastTokens: () => lastTokens,
    speakFor(other) {
      spokenFor = other;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

class Refused extends Error {
  readonly status: number;
  constructor(error: string, status: number) {
    super(error);
    this.status = status;
  }
}

function check(holds: boolean, error: string, status = 400): void {
  if (!holds) throw new Refused(error, status);
}

async function respond(response: ServerResponse, answer: (() => Promise<object> | object) | undefined): Promise<void> {
  const send = (status: number, body: object): unknown =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (answer === undefined) {
    send(404, {});
    return;
  }
  try {
    send(200, await answer());
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    send(error.status, { error: error.message });
  }
}
