import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { openAccountEmailSender } from "./account-emails.ts";
import { createDevelopmentMailSender, createSmtpMailSender } from "./mail-sender.ts";
import { openTestMailbox } from "./testing/mail-server.ts";

function capturedLog() {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return { log: createLog("trace", destination), lines };
}

const TOKEN = "tokenOfTests+/=&";
const origin = "https://gate.test";

test("emails are sent over SMTP from the configured address, and links contain their token after the #", async () => {
  const mailbox = await openTestMailbox();
  const { log, lines } = capturedLog();
  const mail = createSmtpMailSender({ url: mailbox.url, from: "Tollgate <noreply@gate.test>" });
  const emails = openAccountEmailSender({ mail, log, origin });
  emails.resetPassword("ada@example.test", TOKEN);
  const reset = await mailbox.next();
  assert.equal(reset.from, "noreply@gate.test");
  assert.deepEqual(reset.to, ["ada@example.test"]);
  assert.match(reset.text, /Subject: Set a new password/);
  assert.ok(
    reset.text.includes(`https://gate.test/console/reset-password#token=${encodeURIComponent(TOKEN)}`),
    reset.text,
  );
  emails.verifyEmail("ada@example.test", TOKEN);
  assert.match((await mailbox.next()).text, /https:\/\/gate\.test\/console\/verify-email#token=/);
  emails.alreadyHere("ada@example.test");
  assert.doesNotMatch((await mailbox.next()).text, /token/);
  await emails.idle();
  assert.deepEqual(lines, []);
  await mailbox.close();
});

test("an email has exactly one recipient, whatever characters the address contains", async () => {
  const mailbox = await openTestMailbox();
  const mail = createSmtpMailSender({ url: mailbox.url, from: "noreply@gate.test" });
  await mail.send({ to: '"a,b"@example.test', subject: "One\r\nBcc: c@example.test", text: "Hello" });
  const { to, text } = await mailbox.next();
  assert.equal(to.length, 1);
  assert.doesNotMatch(text, /^Bcc:/im);
  await mailbox.close();
});

test("the log line for an email that cannot be sent omits the email's text", async () => {
  const mailbox = await openTestMailbox();
  mailbox.refuseWith("550 no such user");
  const { log, lines } = capturedLog();
  const emails = openAccountEmailSender({
    mail: createSmtpMailSender({ url: mailbox.url, from: "noreply@gate.test" }),
    log,
    origin,
  });
  emails.resetPassword("nobody@example.test", TOKEN);
  await emails.idle();
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /email not sent/);
  assert.ok(!lines.join().includes(TOKEN) && !lines.join().includes(encodeURIComponent(TOKEN)));
  await mailbox.close();
});

test("a development platform logs the whole email", async () => {
  const { log, lines } = capturedLog();
  const emails = openAccountEmailSender({ mail: createDevelopmentMailSender(log), log, origin });
  emails.resetPassword("ada@example.test", TOKEN);
  await emails.idle();
  assert.ok(lines.join().includes(`reset-password#token=${encodeURIComponent(TOKEN)}`));
});
