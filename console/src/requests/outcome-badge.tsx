/** The outcome of a request as a colored word. */
import { Badge } from "../ui/badge.tsx";
import { describeOutcome } from "./outcome-names.ts";

export const OutcomeBadge = ({ of }: { of: string }) => <Badge tone={describeOutcome(of).tone}>{of}</Badge>;
