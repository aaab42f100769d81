/** A link into the console with a token after the #, which browsers do not send: proxies and logs never see it. */
export const linkTo = (origin: string, page: string, token: string): string =>
  `${origin}/console/${page}#token=${encodeURIComponent(token)}`;
