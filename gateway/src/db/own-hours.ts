/**
 * In SQL: the hours of one owner (`$1`), from one moment to before another. Compared with the owner as one value, because only an
 * index of both can serve that: by the hours alone the planner would often rather read everyone's.
 */
export const ownHours = (owner: string, from: string, to: string): string =>
  `${owner} = $1 and (${owner}, hour) >= ($1::uuid, ${from}) and (${owner}, hour) < ($1::uuid, ${to})`;
