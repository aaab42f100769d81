/**
 * Checks and compares NATS subjects, which are tokens separated by dots. A pattern may use `*` for one token and end in
 * `>` for one or more. Only printable ASCII is accepted here, although NATS allows more.
 */
const DOT = 46;
const STAR = 42;
const REST = 62;
const SPACE = 32;
const DELETE = 127;

/** Whether the text is a subject to publish to, without wildcards. */
export const isSubject = (text: string): boolean => isWellFormed(text, false);

/** Whether the text is a subject to subscribe to, wildcards allowed. */
export const isPattern = (text: string): boolean => isWellFormed(text, true);

export const hasWildcard = (pattern: string): boolean => !isSubject(pattern);

function isWellFormed(text: string, wildcards: boolean): boolean {
  let tokenStart = 0;
  for (let i = 0; i <= text.length; i++) {
    const code = i === text.length ? DOT : text.charCodeAt(i);
    if (code <= SPACE || code >= DELETE) return false;
    if (code === DOT) {
      if (i === tokenStart) return false;
      tokenStart = i + 1;
    } else if (code === STAR || code === REST) {
      // A wildcard must be a whole token, and `>` must be the last one.
      const last = i + 1 === text.length;
      const alone = i === tokenStart && (last || text.charCodeAt(i + 1) === DOT);
      if (!wildcards || !alone || (code === REST && !last)) return false;
    }
  }
  return true;
}

/**
 * Whether `pattern` matches every subject that `inner` matches. Both must be well formed. Runs for every message, so it
 * compares characters instead of splitting tokens.
 */
export function patternCovers(pattern: string, inner: string): boolean {
  let p = 0;
  let s = 0;
  for (;;) {
    const head = pattern.charCodeAt(p);
    if (head === REST) return true;
    if (head === STAR) {
      if (inner.charCodeAt(s) === REST) return false;
      p++;
      while (s < inner.length && inner.charCodeAt(s) !== DOT) s++;
    } else {
      while (p < pattern.length && pattern.charCodeAt(p) !== DOT) {
        if (pattern.charCodeAt(p++) !== inner.charCodeAt(s++)) return false;
      }
    }
    const patternEnded = p === pattern.length;
    const innerEnded = s === inner.length;
    if (patternEnded || innerEnded) return patternEnded && innerEnded;
    if (inner.charCodeAt(s) !== DOT) return false;
    p++;
    s++;
  }
}
