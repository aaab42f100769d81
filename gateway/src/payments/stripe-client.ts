/** Configures the official Stripe library: its address, timeouts, and which parts of answers and errors are used. */
import Stripe from "stripe";
import { ProviderUnavailable } from "./provider.ts";

const REPEATS_MAX = 1;

interface StripeClientOptions {
  secretKey: string;
  /** Undefined: Stripe's own address. */
  apiBase: string | undefined;
  callMsMax: number;
}

export function stripeClient({ secretKey, apiBase, callMsMax }: StripeClientOptions): Stripe {
  return new Stripe(secretKey, {
    ...addressOf(apiBase),
    httpClient: objectsOnly(),
    timeout: callMsMax,
    maxNetworkRetries: REPEATS_MAX,
    telemetry: false,
  });
}

function addressOf(apiBase: string | undefined): Stripe.StripeConfig {
  if (apiBase === undefined) return {};
  const { protocol, hostname, port } = new URL(apiBase);
  const scheme = protocol === "http:" ? "http" : "https";
  // The library's default port is 443 for any protocol.
  const standard = scheme === "http" ? 80 : 443;
  return { protocol: scheme, host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? standard : port };
}

/** The library expects a JSON object; any other response would crash the process. */
function objectsOnly(): ReturnType<typeof Stripe.createNodeHttpClient> {
  const client = Stripe.createNodeHttpClient();
  const makeRequest = client.makeRequest.bind(client);
  client.makeRequest = async (...request) => {
    const response = await makeRequest(...request);
    const toJSON = response.toJSON.bind(response);
    response.toJSON = async () => {
      const body: unknown = await toJSON();
      if (typeof body !== "object" || body === null) throw new TypeError("the response is not a JSON object");
      return body;
    };
    return response;
  };
  return client;
}

/** The library may throw on unexpected responses. Its errors contain headers and bodies, so only identifying fields are kept. */
export function providerUnavailable(error: unknown): ProviderUnavailable {
  if (error instanceof ProviderUnavailable) return error;
  if (!(error instanceof Stripe.errors.StripeError)) return new ProviderUnavailable(String(error));
  const { type, code, statusCode, requestId } = error;
  return new ProviderUnavailable(type, { code, status: statusCode, provider_request: requestId });
}
