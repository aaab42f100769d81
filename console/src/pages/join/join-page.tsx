/** The page behind an invitation's link: accepts the invitation, after signing in if necessary. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { InvitationDetails, Me } from "../../api/answer-types.ts";
import { callConsoleApi } from "../../api/api-client.ts";
import { ApiFault, errorMessage } from "../../api/api-fault.ts";
import { chooseAccount } from "../../api/chosen-account.ts";
import { removeInvitationToken, takeInvitationToken } from "../../data/invitation-token.ts";
import { meQuery, refreshSession } from "../../data/signed-in-session.ts";
import { invitationQuery, useAcceptInvitation } from "../../data/team.ts";
import { AuthCard } from "../../layout/auth-layout.tsx";
import { chooseHomePath } from "../../layout/navigation.ts";
import { describeRole } from "../../team/roles.ts";
import { Button, buttonClasses } from "../../ui/button.tsx";
import { Property, PropertyList } from "../../ui/drawer.tsx";
import { FormProblem } from "../../ui/form.tsx";
import { Loading } from "../../ui/loading-states.tsx";
import { toast, toastError } from "../../ui/toast.tsx";

export function JoinPage() {
  const [token] = useState(takeInvitationToken);
  const { data: me } = useQuery(meQuery);
  if (token === "") {
    return (
      <AuthCard title="This link is incomplete">
        <p>Open the link in the invitation again, or ask for a new one.</p>
      </AuthCard>
    );
  }
  if (me === undefined) return <Loading />;
  return me === null ? <SignInFirst /> : <Invited me={me} token={token} />;
}

const SignInFirst = () => (
  <AuthCard
    title="You are invited to a team"
    about="Sign in with the email address that was invited, or create an account with it."
  >
    <div className="flex flex-col gap-3">
      <Link to="/sign-in" search={{ next: "/join" }} className={buttonClasses("primary")}>
        Sign in
      </Link>
      <Link to="/sign-up" search={{ next: "/join" }} className={buttonClasses("plain")}>
        Create account
      </Link>
      <p className="text-xs text-ink-soft">
        If you have to confirm your email address first, open the invitation link again afterwards.
      </p>
    </div>
  </AuthCard>
);

function Invited({ me, token }: { me: Me; token: string }) {
  const accept = useAcceptInvitation();
  // An accepted invitation no longer exists, so it is not requested again.
  const invitation = useQuery({ ...invitationQuery(token), enabled: !accept.isSuccess });
  if (invitation.data !== undefined) return <Offer {...{ me, token, accept }} offer={invitation.data} />;
  if (invitation.error !== null) return <Refusal me={me} token={token} error={invitation.error} />;
  return <Loading />;
}

const HOME = { builder: "/overview", host: "/host" } as const;

interface OfferProps {
  me: Me;
  token: string;
  offer: InvitationDetails;
  accept: ReturnType<typeof useAcceptInvitation>;
}

function Offer({ me, token, offer, accept }: OfferProps) {
  const navigate = useNavigate();
  const { account, role, invited_by } = offer;
  const join = (): void =>
    void accept.mutateAsync(token).then(async (joined) => {
      removeInvitationToken();
      chooseAccount(joined);
      await refreshSession();
      await navigate({ to: HOME[joined.kind] });
      toast(`You joined ${joined.name}`);
    }, showsItself);
  return (
    <AuthCard title={`Join ${account.name}`} about={`${invited_by} invited you to this ${account.kind} account.`}>
      <div className="flex flex-col gap-5">
        <PropertyList>
          <Property name="Your role">
            <span className="font-medium">{role}</span>
            <span className="block text-ink-soft">{describeRole(role, account.kind)}</span>
          </Property>
          <Property name="Signed in as">{me.identity.email}</Property>
        </PropertyList>
        <div role="alert" className="empty:hidden">
          {accept.error !== null && <FormProblem>{errorMessage(accept.error)}</FormProblem>}
        </div>
        <div className="flex flex-wrap gap-2">
          <Button look="primary" busy={accept.isPending} onClick={join}>
            Accept
          </Button>
          <NotNow me={me}>Not now</NotNow>
        </div>
      </div>
    </AuthCard>
  );
}

function Refusal({ me, token, error }: { me: Me; token: string; error: Error }) {
  const isForOther = error instanceof ApiFault && error.code === "invitation_not_yours";
  /** Signs out, so that the invited person can sign in and use the same link. */
  const signInAsOther = async (): Promise<void> => {
    await callConsoleApi("POST /console/api/auth/sign-out");
    location.hash = new URLSearchParams({ token }).toString();
    location.reload();
  };
  return (
    <AuthCard title="You cannot join with this link" about={`You are signed in as ${me.identity.email}.`}>
      <div className="flex flex-col gap-5">
        <FormProblem>{errorMessage(error)}</FormProblem>
        <div className="flex flex-wrap gap-2">
          {isForOther && (
            <Button look="primary" onClick={() => void signInAsOther().catch(toastError)}>
              Sign in with another email
            </Button>
          )}
          <NotNow me={me}>Go to the console</NotNow>
        </div>
      </div>
    </AuthCard>
  );
}

/** An error handler that does nothing, because the dialog shows the error. */
const showsItself = (): void => {};

const NotNow = ({ me, children }: { me: Me; children: string }) => (
  <Link to={chooseHomePath(me)} onClick={removeInvitationToken} className={buttonClasses("plain")}>
    {children}
  </Link>
);
