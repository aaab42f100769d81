/**
 * SQL for the hours of one owner (`$1`) between two moments. Comparing the owner as a one-element array makes the planner use the index
 * on both columns; otherwise it often reads all owners' hours.
 */
export const ownHours = (owner: string, from: string, to: string): string =>
  `${owner} = $1 and (${owner}, hour) >= ($1::uuid, ${from}) and (${owner}, hour) < ($1::uuid, ${to})`;
