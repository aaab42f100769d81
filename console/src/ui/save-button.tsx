/** A button that downloads a file. It is busy during the download, and shows the error if that fails. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Download } from "./icons.tsx";
import { toastError } from "./toast.tsx";

export function SaveButton({ save, children }: { save: () => Promise<unknown>; children: ReactNode }) {
  const { mutate, isPending } = useMutation({ mutationFn: save, onError: toastError });
  return (
    <Button busy={isPending} onClick={() => mutate()}>
      {!isPending && <Download aria-hidden className="size-4" />}
      {children}
    </Button>
  );
}
