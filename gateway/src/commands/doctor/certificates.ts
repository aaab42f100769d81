/** Checks TLS files: readable, matching, currently valid, and issued for the hostname that clients use. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import { type CertificateFiles, readCertificate } from "../../base/certificate.ts";
import { DAY_MS } from "../../base/time.ts";
import type { DoctorContext } from "./doctor-context.ts";

/**
 * Certificates are usually renewed 30 days before they expire. With fewer days left than this, the renewal has probably
 * failed, so the check gives a warning.
 */
const ENDS_SOON_DAYS = 14;

export async function* certificateChecks({ config, clock }: DoctorContext): AsyncGenerator<CheckResult> {
  const { tls, publicUrl, plane } = config;
  const now = clock.now();
  if (tls !== undefined)
    yield await checkCertificate("tls", { files: tls, prefix: "TLS", host: hostOf(publicUrl), now });
  if (plane.tls !== undefined && plane.nats === undefined) {
    const [address] = plane.publicUrl?.split(",") ?? [];
    yield await checkCertificate("plane tls", { files: plane.tls, prefix: "PLANE_TLS", host: hostOf(address), now });
  }
}

const hostOf = (url: string | undefined): string | undefined => (url === undefined ? undefined : new URL(url).hostname);

const isFor = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;

interface Asked {
  files: CertificateFiles;
  prefix: string;
  /** The hostname that clients use; undefined if unknown. */
  host: string | undefined;
  now: number;
}

export async function checkCertificate(name: string, { files, prefix, host, now }: Asked): Promise<CheckResult> {
  const settings = { cert: `${prefix}_CERT`, key: `${prefix}_KEY` };
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate((await readCertificate({ files, settings })).cert);
  } catch (error) {
    return failedCheck(
      name,
      (error as Error).message,
      `set ${settings.cert} and ${settings.key} to the PEM files of a certificate and its key`,
    );
  }
  const renew = `renew the certificate in ${files.certFile}; the gateway reads it within 5 s`;
  const days = Math.floor((certificate.validToDate.getTime() - now) / DAY_MS);
  const until = certificate.validToDate.toISOString().slice(0, 10);
  if (certificate.validFromDate.getTime() > now)
    return failedCheck(
      name,
      `${settings.cert} is not valid before ${certificate.validFrom}`,
      "check this machine's clock",
    );
  if (days < 0) return failedCheck(name, `${settings.cert} expired on ${until}`, renew);
  if (host !== undefined && !isFor(certificate, host))
    return failedCheck(
      name,
      `${settings.cert} is not valid for ${host}`,
      `use a certificate for ${host}, or correct the public address`,
    );
  if (days < ENDS_SOON_DAYS) return warningCheck(name, `${settings.cert} expires on ${until}`, renew);
  return passedCheck(name, `${settings.cert} is valid until ${until}`);
}
