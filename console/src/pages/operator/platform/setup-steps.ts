/**
 * The set-up steps before a platform becomes public. Operators tick off the steps that the gateway cannot detect. Pure.
 */
import type { PlatformSetup } from "../../../api/answer-types.ts";

interface StepWords {
  title: string;
  says: string;
  /** The path of the guide's page about this step. */
  guide: string;
}

const GUIDE = "/docs/guide/operators";

const STEPS: Record<PlatformSetup["steps"][number]["step"], StepWords> = {
  tls: {
    title: "Serve HTTPS",
    says: "Put a proxy with TLS in front of the gateway, or give the gateway a certificate. Then set PUBLIC_URL to the https address.",
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
    says: "A second operator can act when you are unavailable. To create one, run tollgate admin operator create.",
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
} as const satisfies Record<PlatformSetup["ticked"][number], StepWords>;

export type OperatorSetupStep = keyof typeof OWN;

interface ShownStep extends StepWords {
  step: string;
  done: boolean;
  /** Set for a step that the gateway cannot detect. The operator ticks it off. */
  own?: OperatorSetupStep;
}

export const listSetupSteps = ({ steps, ticked }: Pick<PlatformSetup, "steps" | "ticked">): ShownStep[] => [
  ...steps.map(({ step, done }) => ({ step, done, ...STEPS[step] })),
  ...(Object.keys(OWN) as OperatorSetupStep[]).map((own) => ({
    step: own,
    done: ticked.includes(own),
    own,
    ...OWN[own],
  })),
];
