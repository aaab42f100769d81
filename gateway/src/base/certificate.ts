/**
 * A certificate and its key in files that another program renews. The files are read at intervals instead of watched: a
 * renewal may replace a file, a link or a directory (as Kubernetes does), which a file watcher does not report. Invalid
 * files change nothing: the previous certificate stays in use and the log gives the reason.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

const LOOK_EVERY_MS = 5_000;
/**
 * The number of failed reads before an error is logged. Between two writes, certificate and key may not match for a
 * moment.
 */
const LOOKS_BEFORE_COMPLAINT = 2;

export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** A certificate and its key in PEM; the certificate may include its chain. */
export interface Certificate {
  cert: string;
  key: string;
}

export interface ReloadableCertificate {
  current(): Certificate;
  /** Registers a listener that is called at every renewal. */
  onRenewal(listener: (certificate: Certificate) => void): void;
  stop(): void;
}

interface CertificateOptions {
  files: CertificateFiles;
  /** The names of the settings, for error messages. */
  settings: { cert: string; key: string };
  clock: Clock;
  log: Log;
}

/** Rejects when the files contain no valid certificate. */
export async function openCertificate(options: CertificateOptions): Promise<ReloadableCertificate> {
  const { settings, clock, log } = options;
  let current = await readCertificate(options);
  const listeners: ((certificate: Certificate) => void)[] = [];
  let complaint = { reason: "", looks: 0 };

  const look = async (): Promise<void> => {
    const next = await readCertificate(options).catch((error: Error) => error);
    if (next instanceof Error) {
      const looks = next.message === complaint.reason ? complaint.looks + 1 : 1;
      complaint = { reason: next.message, looks };
      if (looks === LOOKS_BEFORE_COMPLAINT) {
        log.error({ err: next, ...facts(current) }, "certificate file is invalid; keeping the previous certificate");
      }
      return;
    }
    complaint = { reason: "", looks: 0 };
    if (next.cert === current.cert && next.key === current.key) return;
    current = next;
    for (const listener of listeners) listener(next);
    log.info({ setting: settings.cert, ...facts(next) }, "certificate renewed");
  };

  let isLooking = false;
  const stop = clock.every(LOOK_EVERY_MS, async () => {
    if (isLooking) return;
    isLooking = true;
    await look();
    isLooking = false;
  });
  return {
    current: () => current,
    onRenewal: (listener) => void listeners.push(listener),
    stop,
  };
}

const facts = ({ cert }: Certificate): { subject: string; validUntil: string } => {
  const { subject, validTo } = new X509Certificate(cert);
  return { subject, validUntil: validTo };
};

/** Rejects with an error that names the setting of the invalid file. */
export async function readCertificate({
  files,
  settings,
}: Pick<CertificateOptions, "files" | "settings">): Promise<Certificate> {
  const { certFile, keyFile } = files;
  const cert = await read(certFile, settings.cert);
  const key = await read(keyFile, settings.key);
  const certificate = orRefuse(
    `${settings.cert}: ${certFile} is not a PEM certificate`,
    () => new X509Certificate(cert),
  );
  const privateKey = orRefuse(`${settings.key}: ${keyFile} is not a PEM private key, or has a passphrase`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`${settings.key}: ${keyFile} does not match the certificate in ${certFile} (${settings.cert})`);
  }
  orRefuse(`${settings.cert}: ${certFile} cannot be used for TLS`, () => createSecureContext({ cert, key }));
  return { cert, key };
}

async function read(file: string, setting: string): Promise<string> {
  return await readFile(file, "utf8").catch((cause) => {
    throw new Error(`${setting}: ${file} cannot be read (${cause.code})`, { cause });
  });
}

function orRefuse<T>(message: string, attempt: () => T): T {
  try {
    return attempt();
  } catch (cause) {
    throw new Error(message, { cause });
  }
}
