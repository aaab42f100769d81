/** Queries and changes for an account's members, and accepting an invitation. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { Role } from "../api/answer-types.ts";
import { callConsoleApi, callConsoleApiForAccount } from "../api/api-client.ts";
import { queryClient } from "./query-client.ts";

export const teamQuery = (accountId: string) =>
  queryOptions({
    queryKey: ["team", accountId],
    queryFn: () => callConsoleApiForAccount(accountId, "GET /console/api/team"),
  });

/** Refreshes the team after a refused change too, because the shown data was outdated. */
const readAgain = (accountId: string) => ({
  onSettled: () => queryClient.invalidateQueries({ queryKey: teamQuery(accountId).queryKey }),
});

export const useInvite = (accountId: string) =>
  useMutation({
    mutationFn: (body: { email: string; role: Role }) =>
      callConsoleApiForAccount(accountId, "POST /console/api/team/invitations", { body }),
    ...readAgain(accountId),
  });

export const useWithdrawInvitation = (accountId: string) =>
  useMutation({
    mutationFn: (id: string) =>
      callConsoleApiForAccount(accountId, "DELETE /console/api/team/invitations/{id}", { path: { id } }),
    ...readAgain(accountId),
  });

export const useChangeRole = (accountId: string) =>
  useMutation({
    mutationFn: ({ id, role }: { id: string; role: Exclude<Role, "owner"> }) =>
      callConsoleApiForAccount(accountId, "PATCH /console/api/team/members/{id}", { path: { id }, body: { role } }),
    ...readAgain(accountId),
  });

export const useRemoveMember = (accountId: string) =>
  useMutation({
    mutationFn: (id: string) =>
      callConsoleApiForAccount(accountId, "DELETE /console/api/team/members/{id}", { path: { id } }),
  });

export const invitationQuery = (token: string) =>
  queryOptions({
    queryKey: ["invitation", token],
    staleTime: Number.POSITIVE_INFINITY,
    // No retry after a refusal: each look-up of a link counts towards the limit of attempts.
    refetchInterval: false,
    refetchOnWindowFocus: false,
    queryFn: () => callConsoleApi("POST /console/api/team/invitation", { body: { token } }),
  });

export const useAcceptInvitation = () =>
  useMutation({ mutationFn: (token: string) => callConsoleApi("POST /console/api/team/accept", { body: { token } }) });
