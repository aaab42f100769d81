/**
 * Lets callers that ask the same question share one answer, as long as the question has not been sent. For a later
 * caller it is sent again, so that no answer is older than the caller's question.
 */
type Ask<T> = (sent: () => void) => Promise<T>;

/**
 * Equal calls share one `ask` until it calls `sent`. So `ask` must call `sent` before it reads anything that may
 * change. Otherwise a later caller could get an answer that is older than its call.
 */
export function coalesceUnsentQueries<T>(): (key: string, ask: Ask<T>) => Promise<T> {
  const open = new Map<string, Promise<T>>();
  return (key, ask) => {
    const joined = open.get(key);
    if (joined !== undefined) return joined;
    let isSent = false;
    const sent = (): void => {
      if (isSent) return;
      isSent = true;
      open.delete(key);
    };
    const answer = ask(sent).finally(sent);
    if (!isSent) open.set(key, answer);
    return answer;
  };
}
