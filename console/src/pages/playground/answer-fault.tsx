/** Explains why an answer is missing or incomplete, and offers the next step. */
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { FormProblem } from "../../ui/form.tsx";
import type { Fault } from "./answer-state.ts";
import { adviseOnFault } from "./fault-advice.ts";

const TICK_MS = 1_000;
const LINK = "font-medium underline underline-offset-2";

export function AnswerFault({ fault, onAgain }: { fault: Fault; onAgain: (() => void) | undefined }) {
  const now = useNowUntil(fault.againAtMs ?? 0);
  const { text, link, again } = adviseOnFault(fault, now);
  return (
    <div role="alert" className="flex flex-col items-start gap-2">
      <FormProblem>
        {text}{" "}
        {link === "credits" && (
          <Link to="/credits" className={LINK}>
            Credits
          </Link>
        )}
        {link === "keys" && (
          <Link to="/keys" className={LINK}>
            API keys
          </Link>
        )}
        {fault.code !== undefined && <code className="ml-1.5 font-mono text-xs">{fault.code}</code>}
      </FormProblem>
      {again === true && onAgain !== undefined && (
        <Button size="small" disabled={(fault.againAtMs ?? 0) > now} onClick={onAgain}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** The current time, updated every second until `untilMs`. */
function useNowUntil(untilMs: number): number {
  const [now, setNow] = useState(Date.now);
  const isWaiting = untilMs > now;
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isWaiting]);
  return now;
}
