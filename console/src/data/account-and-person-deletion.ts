/** Exports or deletes an account, or the person's own sign-in. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { callConsoleApi } from "../api/api-client.ts";
import { queryClient } from "./query-client.ts";
import { refreshSession, reloadToSignIn } from "./signed-in-session.ts";

/** The data that would be lost, and the reasons that prevent the deletion. */
export const deletionQuery = (id: string) =>
  queryOptions({
    queryKey: ["deletion", id],
    queryFn: () => callConsoleApi("GET /console/api/accounts/{id}/deletion", { path: { id } }),
  });

interface Proof {
  typed: string;
  /** The second-factor code; empty if the person has no second factor. */
  code: string;
}

const codeOf = ({ code }: Proof): { code?: string } => (code === "" ? {} : { code: code.replaceAll(/\s/g, "") });

export const useDeleteAccount = (id: string) =>
  useMutation({
    mutationFn: (proof: Proof) =>
      callConsoleApi("POST /console/api/accounts/{id}/delete", {
        path: { id },
        body: { name: proof.typed, ...codeOf(proof) },
      }),
    onError: () => queryClient.invalidateQueries({ queryKey: deletionQuery(id).queryKey }),
    onSuccess: () => refreshSession(),
  });

export const useDeletePerson = () =>
  useMutation({
    mutationFn: (proof: Proof) =>
      callConsoleApi("POST /console/api/me/delete", { body: { email: proof.typed, ...codeOf(proof) } }),
    onSuccess: () => reloadToSignIn({}),
  });
