/**
 * Sends emails over SMTP. On a development platform, emails are logged instead, so that developers can follow their
 * links.
 */
import type { Transporter } from "nodemailer";
import type { Log } from "../base/log.ts";

export interface Email {
  /** The Message-ID, the same for every retry, so that mail programs show the email once. */
  id?: string;
  to: string;
  subject: string;
  text: string;
}

export interface MailSender {
  send(letter: Email): Promise<void>;
  /** Whether emails reach their recipients. False when they are only logged. */
  delivers: boolean;
}

const CONNECT_MS_MAX = 10_000;
const SOCKET_MS_MAX = 30_000;

interface SmtpOptions {
  /** `smtp://user:password@host:587` (TLS when the server offers it) or `smtps://…:465`. */
  url: string;
  from: string;
}

async function openTransport({ url, from }: SmtpOptions): Promise<Transporter> {
  // Loads the library with the first email, because most gateways never send one.
  const { default: nodemailer } = await import("nodemailer");
  return nodemailer.createTransport(
    {
      url,
      connectionTimeout: CONNECT_MS_MAX,
      greetingTimeout: CONNECT_MS_MAX,
      socketTimeout: SOCKET_MS_MAX,
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
}

/** Connects to the mail server and signs in, without sending. Rejects with the reason. */
export async function verifySmtp(options: SmtpOptions): Promise<void> {
  const transport = await openTransport(options);
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

export function createSmtpMailSender(options: SmtpOptions): MailSender {
  let opened: Promise<Transporter> | undefined;
  return {
    delivers: true,
    async send({ id, to, subject, text }) {
      opened ??= openTransport(options);
      const transport = await opened;
      const named = id === undefined ? {} : { messageId: `<${id}@tollgate>` };
      // An object instead of text is always one recipient, whatever characters the address contains.
      await transport.sendMail({ to: { name: "", address: to }, subject, text, ...named });
    },
  };
}

/** Logs emails instead of sending them. Only for development platforms, because emails contain sign-in links. */
export function createDevelopmentMailSender(log: Log): MailSender {
  return {
    delivers: false,
    async send({ to, subject, text }) {
      log.warn({ to, subject, text }, "email not sent: SMTP_URL is not set");
    },
  };
}
