/** Where the configuration has the gateway listen. */
import type { Listener } from "../assemble/ports.ts";
import { type LiveCertificate, openCertificate } from "../base/certificate.ts";
import type { Config } from "../config.ts";
import { listen, PortTaken } from "../http/server.ts";
import type { BuildContext } from "./context.ts";

export async function openListener(context: BuildContext): Promise<Listener> {
  const { config, anyInternalPort = false } = context;
  const internal = { host: config.internalHost, port: config.internalPort };
  return {
    certificate: await openPublicCertificate(context),
    async open(server, which) {
      if (which === "public") return await listen(server, { host: config.host, port: config.port });
      try {
        return await listen(server, internal);
      } catch (error) {
        if (!anyInternalPort || !(error instanceof PortTaken)) throw error;
        return await listen(server, { ...internal, port: 0 });
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
