/** Describes a team's change in a sentence. */
import type { TeamAction, TeamEvent } from "../../api/answer-types.ts";

const SENTENCES: Record<TeamAction, (event: { by: string; email: string; role: string }) => string> = {
  invited: ({ by, email, role }) => `${by} invited ${email} as ${role}.`,
  withdrawn: ({ by, email }) => `${by} withdrew the invitation for ${email}.`,
  joined: ({ email, role }) => `${email} joined as ${role}.`,
  role_changed: ({ by, email, role }) => `${by} changed the role of ${email} to ${role}.`,
  removed: ({ by, email }) => `${by} removed ${email}.`,
  left: ({ email }) => `${email} left.`,
};

export const describeTeamEvent = ({ action, by, email, role }: TeamEvent): string =>
  SENTENCES[action]({ by: by ?? "Someone", email, role: role ?? "none" });
