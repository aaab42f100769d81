/** Where the configuration has the gateway listen. */
import type { Listener } from "../assemble/ports.ts";
import { type LiveCertificate, openCertificate } from "../base/certificate.ts";
import { ListenError } from "../base/listen-error.ts";
import type { Config } from "../config.ts";
import { listen } from "../http/server.ts";
import type { BuildContext } from "./context.ts";

export async function openListener(context: BuildContext): Promise<Listener> {
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

/** Undefined where the public listener speaks plain HTTP. */
async function openPublicCertificate(context: BuildContext): Promise<LiveCertificate | undefined> {
  const { config, clock, log, onClose } = context;
  if (config.tls === undefined) return undefined;
  const settings = { cert: "TLS_CERT", key: "TLS_KEY" };
  const certificate = await openCertificate({ files: config.tls, settings, clock, log });
  onClose(certificate.stop);
  return certificate;
}

/** Where links in email lead. */
export const linkOriginOf = ({ publicUrl, tls, host, port }: Config): string =>
  publicUrl === undefined ? `${tls === undefined ? "http" : "https"}://${host}:${port}` : new URL(publicUrl).origin;
