/** The reason that a listener could not be opened, in one line with the setting to change. */

interface Address {
  host: string;
  port: number;
}

/** The names of the settings or flags with the listener's address. */
export interface AddressSettings {
  host: string;
  port: string;
}

export class ListenError extends Error {
  override name = "ListenError";
  readonly isPortTaken: boolean;
  /** The message without its last sentence, which is in `remedy`. */
  readonly what: string;
  readonly remedy: string;

  constructor(address: Address, settings: AddressSettings, cause: NodeJS.ErrnoException) {
    const [what, remedy] = reason(cause, address, settings);
    super(`${what}. ${remedy}.`, { cause });
    this.isPortTaken = cause.code === "EADDRINUSE";
    this.what = what;
    this.remedy = remedy;
  }
}

function reason(
  cause: NodeJS.ErrnoException,
  { host, port }: Address,
  settings: AddressSettings,
): [what: string, remedy: string] {
  switch (cause.code) {
    case "EADDRINUSE":
      return [`Port ${port} on ${host} is already in use`, `Choose another with ${settings.port}`];
    case "EACCES":
      return [`This user has no permission to use port ${port} on ${host}`, `Choose another with ${settings.port}`];
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return [`${host} is not an address of this machine`, `Change ${settings.host}`];
    default:
      return [`Cannot listen on ${host}:${port}: ${cause.message}`, `Change ${settings.host} or ${settings.port}`];
  }
}
