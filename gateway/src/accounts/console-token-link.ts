/**
 * Builds a link into the console with a token after the #. Browsers do not send that part, so proxies and logs never
 * see it.
 */
export const buildConsoleTokenLink = (origin: string, page: string, token: string): string =>
  `${origin}/console/${page}#token=${encodeURIComponent(token)}`;
