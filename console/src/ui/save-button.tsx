/** A button that saves a file: busy while it is fetched, and says why where it could not be had. */
import { Download } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { toastError } from "./toast.tsx";

export function SaveButton({ save, children }: { save: () => Promise<unknown>; children: ReactNode }) {
  const [busy, setBusy] = useState(false);
  const start = (): void => {
    setBusy(true);
    save()
      .catch(toastError)
      .finally(() => setBusy(false));
  };
  return (
    <Button busy={busy} onClick={start}>
      {!busy && <Download aria-hidden className="size-4" />}
      {children}
    </Button>
  );
}
