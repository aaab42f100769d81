/** A link into the console that carries a token. What follows the # stays in the browser: no proxy and no log sees it. */
export const linkTo = (origin: string, page: string, token: string): string =>
  `${origin}/console/${page}#token=${encodeURIComponent(token)}`;
