import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pino from "pino";
import { selfSignedCertificate } from "../plane/hub/testing-certificate.ts";
import { type Certificate, openCertificate } from "./certificate.ts";
import type { Clock } from "./clock.ts";
import { manualClock } from "./testing.ts";

const LOOK_EVERY_MS = 5_000;
const settings = { cert: "TLS_CERT", key: "TLS_KEY" };

async function place(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-certificate-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const write = async (folder: string, { cert, key }: Certificate): Promise<void> => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "tls.crt"), cert);
  await writeFile(join(folder, "tls.key"), key);
};

async function open(t: TestContext, folder: string) {
  const clock = manualClock();
  const lines: { level: number; msg: string; err?: { message: string } }[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  /** Lets the test wait until the files are read before it moves time on. */
  let looking: Promise<unknown> = Promise.resolve();
  const every: Clock["every"] = (periodMs, task) =>
    clock.every(periodMs, () => {
      looking = Promise.resolve(task() as unknown);
    });
  const certificate = await openCertificate({ files, settings, clock: { ...clock, every }, log });
  t.after(() => certificate.stop());
  const renewals: Certificate[] = [];
  certificate.onRenewal((renewed) => renewals.push(renewed));
  const look = async (): Promise<void> => {
    clock.advance(LOOK_EVERY_MS);
    await looking;
  };
  const until = async (what: string, seen: () => boolean): Promise<void> => {
    await eventually(what, async () => {
      await look();
      return seen();
    });
  };
  return { certificate, renewals, lines, look, until };
}

test("a certificate is reported as renewed when its files, or the symbolic link to its folder, are replaced", async (t) => {
  const folder = await place(t);
  const [first, second, third] = [selfSignedCertificate(), selfSignedCertificate(), selfSignedCertificate()];
  await write(join(folder, "one"), first);
  await symlink("one", join(folder, "now"));
  const { certificate, renewals, lines, until } = await open(t, join(folder, "now"));
  assert.deepEqual(certificate.current(), first);

  await write(join(folder, "two"), second);
  await symlink("two", join(folder, "next"));
  await rename(join(folder, "next"), join(folder, "now"));
  await until("the next is there", () => renewals.length === 1);
  await write(join(folder, "two"), third);
  await until("the third is there", () => renewals.length === 2);
  assert.deepEqual(renewals, [second, third]);
  assert.deepEqual(certificate.current(), third);
  assert.deepEqual(new Set(lines.map(({ msg }) => msg)), new Set(["certificate renewed"]));
});

test("an invalid renewal is logged once, and the certificate in use stays until the files are corrected", async (t) => {
  const folder = await place(t);
  const [first, second] = [selfSignedCertificate(), selfSignedCertificate()];
  await write(folder, first);
  const { certificate, renewals, lines, look, until } = await open(t, folder);
  await writeFile(join(folder, "tls.crt"), second.cert);
  await until("it is told", () => lines.length === 1);
  for (let looks = 0; looks < 20; looks++) await look();
  assert.deepEqual(certificate.current(), first);
  assert.equal(lines.length, 1);
  assert.match(lines[0]?.err?.message ?? "", /^TLS_KEY: .*tls\.key does not match the certificate in .*tls\.crt/);
  await writeFile(join(folder, "tls.key"), second.key);
  await until("the next is there", () => renewals.length === 1);
  assert.deepEqual(certificate.current(), second);
});

test("an invalid certificate at the start causes an error with the setting and the file", async (t) => {
  const folder = await place(t);
  const [mine, other] = [selfSignedCertificate(), selfSignedCertificate()];
  for (const [pair, words] of [
    [{ ...mine, cert: mine.key }, /^TLS_CERT: .*tls\.crt is not a PEM certificate$/],
    [{ ...mine, key: mine.cert }, /^TLS_KEY: .*tls\.key is not a PEM private key, or has a passphrase$/],
    [{ ...mine, key: other.key }, /^TLS_KEY: .*tls\.key does not match the certificate in .*tls\.crt \(TLS_CERT\)$/],
  ] as const) {
    await write(folder, pair);
    await assert.rejects(open(t, folder), { message: words });
  }
  await rm(join(folder, "tls.crt"));
  await assert.rejects(open(t, folder), { message: /^TLS_CERT: .*tls\.crt cannot be read \(ENOENT\)$/ });
});
