/** Opens the configured listeners. */
import type { Listener } from "../assemble/port-interfaces.ts";
import { openCertificate, type ReloadableCertificate } from "../base/certificate.ts";
import { ListenError } from "../base/listen-error.ts";
import type { Config } from "../config.ts";
import { type Health, internalServer, listen } from "../http/server.ts";
import type { BuildContext } from "./build-context.ts";

type ListenerContext = Omit<BuildContext, "gatewayId">;
export type ListenerWithInternalServer = Listener & Required<Pick<Listener, "internal">>;

/** Opens the internal listener first, so that it can report what the start is waiting for. */
export async function openStartingListener(
  context: ListenerContext,
  starting: Health,
): Promise<ListenerWithInternalServer> {
  const listener = await openListener(context);
  if (context.worker !== undefined) {
    const { internalPort: port, tellOf } = context.worker;
    tellOf(starting);
    return { ...listener, internal: { port, tellOf } };
  }
  let health = starting;
  const server = internalServer({ ready: () => health.ready(), metrics: () => health.metrics() });
  context.onClose(() => server.close());
  const port = await listener.open(server, "internal");
  const tellOf = (now: Health): void => {
    health = now;
  };
  return { ...listener, internal: { port, tellOf } };
}

export async function openListener(context: ListenerContext): Promise<Listener> {
  const { config, development = false, anyInternalPort = false } = context;
  const open = { host: config.host, port: config.port };
  const internal = { host: config.internalHost, port: config.internalPort };
  const openSettings = { host: "HOST", port: development ? "--port" : "PORT" };
  const internalSettings = { host: "INTERNAL_HOST", port: "INTERNAL_PORT" };
  return {
    certificate: await openPublicCertificate(context),
    async open(server, which) {
      if (which === "public") return await listen(server, open, openSettings);
      try {
        return await listen(server, internal, internalSettings);
      } catch (error) {
        if (!anyInternalPort || !(error instanceof ListenError && error.isPortTaken)) throw error;
        return await listen(server, { ...internal, port: 0 }, internalSettings);
      }
    },
  };
}

/** Undefined if the public listener uses plain HTTP. */
async function openPublicCertificate(context: ListenerContext): Promise<ReloadableCertificate | undefined> {
  const { config, clock, log, onClose } = context;
  if (config.tls === undefined) return undefined;
  const settings = { cert: "TLS_CERT", key: "TLS_KEY" };
  const certificate = await openCertificate({ files: config.tls, settings, clock, log });
  onClose(certificate.stop);
  return certificate;
}

/** The origin for links in emails. */
export const deriveLinkOrigin = ({ publicUrl, tls, host, port }: Config): string =>
  publicUrl === undefined ? `${tls === undefined ? "http" : "https"}://${host}:${port}` : new URL(publicUrl).origin;
