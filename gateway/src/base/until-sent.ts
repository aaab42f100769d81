/**
 * Lets callers with the same question share an answer, as long as the question has not been sent. Later callers send it
 * again, so an answer is never older than its question.
 */
type Ask<T> = (sent: () => void) => Promise<T>;

/** `ask` must call `sent` before it reads anything that may change. */
export function shareUntilSent<T>(): (key: string, ask: Ask<T>) => Promise<T> {
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
