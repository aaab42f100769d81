/** Query and answer for a script's login (`tollgate login`) that waits for this person's confirmation. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { callConsoleApi } from "../api/api-client.ts";
import { queryClient } from "./query-client.ts";
import { sessionsQuery } from "./sign-in-security.ts";

export const scriptLoginQuery = (code: string) =>
  queryOptions({
    queryKey: ["script-login", code],
    staleTime: Number.POSITIVE_INFINITY,
    // Each look-up of a code counts towards the limit of attempts, so it is not repeated.
    refetchInterval: false,
    refetchOnWindowFocus: false,
    queryFn: () => callConsoleApi("GET /console/api/script-logins/{code}", { path: { code } }),
  });

export const useDecideScriptLogin = (code: string) =>
  useMutation({
    mutationFn: (confirm: boolean) =>
      callConsoleApi("POST /console/api/script-logins/{code}", { path: { code }, body: { confirm } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
