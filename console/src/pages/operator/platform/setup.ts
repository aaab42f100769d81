/** The set-up steps before public use. Operators tick off those that the gateway cannot detect. Pure. */
import type { Setup } from "../../../api/types.ts";

interface StepWords {
  title: string;
  says: string;
  /** The step's page in the guide. */
  guide: string;
}

const GUIDE = "/docs/guide/operators";

const STEPS: Record<Setup["steps"][number]["step"], StepWords> = {
  tls: {
    title: "Serve HTTPS",
    says: "Set PUBLIC_URL to an https address, with a proxy or a certificate of the gateway's own.",
    guide: `${GUIDE}/quickstart`,
  },
  email: {
    title: "Set up email",
    says: "Without email, no one can reset a password or get an alert.",
    guide: `${GUIDE}/sign-in`,
  },
  payments: {
    title: "Set up payments",
    says: "You can also grant credit by hand under Accounts.",
    guide: `${GUIDE}/payments`,
  },
  second_operator: {
    title: "Add a second operator",
    says: "A second operator can act while you cannot: tollgate admin operator create.",
    guide: `${GUIDE}/admin`,
  },
};

const OWN = {
  backups: {
    title: "Back up the database",
    says: "Restore a backup once, to know that it works.",
    guide: `${GUIDE}/backup`,
  },
  alerts: {
    title: "Get alerts",
    says: "Load deploy/prometheus/alerts.yml. Each alert has a section in the runbook.",
    guide: `${GUIDE}/monitoring`,
  },
} as const satisfies Record<string, StepWords>;

type OwnStep = keyof typeof OWN;

interface ShownStep extends StepWords {
  step: string;
  done: boolean;
  /** The gateway cannot detect it, so the operator ticks it off. */
  own: boolean;
}

export const stepsOf = ({ steps }: Pick<Setup, "steps">, ticked: readonly string[]): ShownStep[] => [
  ...steps.map(({ step, done }) => ({ step, done, own: false, ...STEPS[step] })),
  ...(Object.keys(OWN) as OwnStep[]).map((step) => ({ step, done: ticked.includes(step), own: true, ...OWN[step] })),
];
