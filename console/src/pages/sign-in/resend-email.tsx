/** Sends the confirmation email again, to the address in the form. */
import { useMutation } from "@tanstack/react-query";
import { callConsoleApi } from "../../api/api-client.ts";
import { Button } from "../../ui/button.tsx";
import { toast, toastError } from "../../ui/toast.tsx";

export function ResendEmail() {
  const send = useMutation({
    mutationFn: (email: string) =>
      callConsoleApi("POST /console/api/auth/request-email-verification", { body: { email } }),
    onSuccess: () => toast("Email sent"),
    onError: toastError,
  });
  return (
    <Button
      busy={send.isPending}
      onClick={({ currentTarget }) => {
        const field = currentTarget.form?.elements.namedItem("email");
        if (field instanceof HTMLInputElement) send.mutate(field.value.trim());
      }}
    >
      Resend email
    </Button>
  );
}
