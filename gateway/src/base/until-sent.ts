/**
 * Who asks the same while a question is still being put together shares its answer. No one joins once it is sent: an answer is never
 * older than the question of whoever gets it.
 */
type Ask<T> = (sent: () => void) => Promise<T>;

/** `ask` has to call `sent` before it looks at anything that may change. */
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
