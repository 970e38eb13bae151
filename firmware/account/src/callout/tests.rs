use super::*;
use crate::jwt::{AuthResponseClaims, UserClaims};
use crate::nkey::{KeyPair, Role, sign};
use crate::xkey::Xkey;
use crate::{
    AccountPlan, Caller, Credentials, Directory, Identity, Login, PeerKind, Plan, Proxied,
    Question, Refusal, Secret, Standing, UserPlan, Verdict,
};

const NOW_S: i64 = 1_000_000;

fn key(role: Role, byte: u8) -> KeyPair {
    KeyPair::from_random(role, &[byte; 32])
}

fn login(name: &str, account: &str) -> UserPlan {
    UserPlan {
        login: Login::Password {
            user: name.into(),
            secret: Secret::new("pw"),
        },
        account: Some(account.into()),
        permissions: None,
        only: None,
        proxy_required: false,
    }
}

fn plan() -> Plan {
    let account = |name: &str| AccountPlan {
        name: name.into(),
        ..AccountPlan::default()
    };
    Plan {
        accounts: vec![account("AUTH"), account("APP"), account("B")],
        users: vec![
            login("auth", "AUTH"),
            login("other", "AUTH"),
            login("b", "B"),
        ],
        callout: Some(CalloutPlan {
            issuer: key(Role::Account, 1).public_key(),
            account: "AUTH".into(),
            auth_users: vec!["auth".into()],
            ..CalloutPlan::default()
        }),
        ..Plan::default()
    }
}

fn build(plan: &Plan) -> Directory {
    Directory::build(plan, None).unwrap()
}

fn given(user: &str, pass: &str) -> Credentials {
    Credentials {
        user: Some(user.into()),
        pass: Some(pass.into()),
        ..Credentials::default()
    }
}

fn judge(directory: &Directory, given: &Credentials) -> Verdict {
    directory.authenticate(given, "nonce", &Caller::plain(PeerKind::Client))
}

fn asked(verdict: Verdict) -> Option<Delegation> {
    match verdict {
        Verdict::Ask(Question::Callout(delegation)) => Some(*delegation),
        Verdict::Ask(_) | Verdict::Accept(_) | Verdict::Refuse | Verdict::RefuseFor(_) => None,
    }
}

#[test]
fn everybody_is_asked_about_but_the_service() {
    let directory = build(&plan());
    for (user, pass) in [("b", "pw"), ("b", "no"), ("stranger", "x"), ("other", "pw")] {
        let delegation = asked(judge(&directory, &given(user, pass))).unwrap();
        assert_eq!(directory.find("AUTH"), Some(delegation.account));
        assert_eq!(delegation.user, user);
    }
    assert!(matches!(
        judge(&directory, &given("auth", "pw")),
        Verdict::Accept(_)
    ));
    assert!(matches!(
        judge(&directory, &given("auth", "no")),
        Verdict::Refuse
    ));
    let token = Credentials {
        auth_token: Some("secret".into()),
        ..Credentials::default()
    };
    assert_eq!(asked(judge(&directory, &token)).unwrap().user, "[REDACTED]");
}

#[test]
fn accounts_that_are_not_covered_keep_their_users() {
    let mut plan = plan();
    if let Some(callout) = &mut plan.callout {
        callout.allowed_accounts = vec!["APP".into()];
    }
    let directory = build(&plan);
    assert!(matches!(
        judge(&directory, &given("b", "pw")),
        Verdict::Accept(_)
    ));
    assert!(asked(judge(&directory, &given("b", "no"))).is_some());
}

#[test]
fn nobody_in_the_services_account_may_ask_it() {
    let directory = build(&plan());
    let Verdict::Accept(identity) = judge(&directory, &given("auth", "pw")) else {
        panic!("refused");
    };
    let permissions = identity.user.unwrap().permissions.clone().unwrap();
    assert_eq!(permissions.publish.deny, [AUTH_SUBJECT.into()]);
}

fn why(result: Result<Identity, Withheld>) -> String {
    match result.unwrap_err() {
        Withheld::Refused(text) => text,
        Withheld::Ask(question) => panic!("{question:?}"),
    }
}

#[test]
fn nobody_is_let_in_where_no_service_can_be_asked() {
    let mut plan = plan();
    if let Some(callout) = &mut plan.callout {
        callout.account = "NOPE".into();
    }
    let verdict = judge(&build(&plan), &given("alice", "x"));
    let account = "NOPE".to_owned();
    assert_eq!(verdict, Verdict::Ask(Question::NoService { account }));
}

#[test]
fn those_who_say_nothing_are_asked_about_too() {
    let mut plan = plan();
    let silent = |plan: &Plan| build(plan).without_connect(&Caller::plain(PeerKind::Client));
    assert_eq!(silent(&plan), Verdict::Refuse);
    plan.no_auth_user = Some("b".into());
    assert_eq!(asked(silent(&plan)).unwrap().user, "b");
    plan.no_auth_user = Some("auth".into());
    assert!(matches!(silent(&plan), Verdict::Accept(_)));
    plan.no_auth_user = Some("b".into());
    for user in &mut plan.users {
        user.proxy_required = true;
    }
    assert_eq!(silent(&plan), Verdict::Refuse);
}

#[test]
fn a_user_stays_while_the_service_is_the_same() {
    let world = World::new();
    let user = world.with_token(|_| {}).unwrap().user.unwrap();
    let mut plan = plan();
    let standing = |plan: &Plan| {
        let next = Directory::build(plan, Some(&world.directory)).unwrap();
        next.standing(&user, PeerKind::Client)
    };
    plan.users.push(login("new", "B"));
    assert!(matches!(standing(&plan), Standing::Same(_)));
    if let Some(callout) = &mut plan.callout {
        callout.issuer = key(Role::Account, 2).public_key();
    }
    assert_eq!(standing(&plan), Standing::Gone);
    plan.callout = None;
    assert_eq!(standing(&plan), Standing::Gone);
}

#[test]
fn an_unknown_time_zone_is_asked_for() {
    let mut world = World::new();
    let nightly = |user: &mut UserClaims| {
        user.nats.may.times = vec![crate::jwt::TimeRange {
            start: "00:00:00".into(),
            end: "23:59:59".into(),
        }];
        user.nats.may.times_location = "Europe/Berlin".into();
    };
    let name = "Europe/Berlin".to_owned();
    assert_eq!(
        world.with_token(nightly).unwrap_err(),
        Withheld::Ask(Question::Zone { name: name.clone() })
    );
    world.directory.put_zone(&name, crate::Zone::default());
    assert!(world.with_token(nightly).is_ok());
}

/// A question, and what is needed to answer it.
struct World {
    directory: Directory,
    delegation: Delegation,
    xkey: Xkey,
    server: String,
    user: String,
}

impl World {
    fn new() -> Self {
        let directory = build(&plan());
        let delegation = asked(judge(&directory, &given("alice", "x"))).unwrap();
        Self {
            directory,
            delegation,
            xkey: Xkey::from_random(&[4; 32]),
            server: key(Role::Server, 1).public_key(),
            user: key(Role::User, 1).public_key(),
        }
    }

    fn token(&self, change: impl FnOnce(&mut UserClaims)) -> String {
        let mut claims = UserClaims::about(&self.user);
        claims.audience = "APP".into();
        change(&mut claims);
        claims.encode(&key(Role::Account, 1)).unwrap()
    }

    fn answer(&self, change: impl FnOnce(&mut AuthResponseClaims)) -> String {
        let mut claims = AuthResponseClaims::about(&self.user);
        claims.audience.clone_from(&self.server);
        change(&mut claims);
        claims.encode(&key(Role::Account, 1)).unwrap()
    }

    fn take(&self, payload: &[u8]) -> Result<Identity, Withheld> {
        let asked = Asked {
            server: &self.server,
            user: &self.user,
            delegation: &self.delegation,
            xkey: &self.xkey,
            wall_ns: NOW_S * 1_000_000_000,
        };
        self.directory.take_answer(&asked, payload)
    }

    fn with_token(&self, change: impl FnOnce(&mut UserClaims)) -> Result<Identity, Withheld> {
        let token = self.token(change);
        self.take(self.answer(|answer| answer.nats.jwt = token).as_bytes())
    }
}

#[test]
fn a_good_answer_says_who_it_is() {
    let world = World::new();
    let identity = world
        .with_token(|user| {
            user.name = "Alice".into();
            user.expires = NOW_S + 5;
            user.nats.may.permissions.publish.allow = vec!["app.>".into()];
        })
        .unwrap();
    assert_eq!(identity.name(), "Alice");
    assert_eq!(Some(identity.account), world.directory.find("APP"));
    let user = identity.user.unwrap();
    let permissions = user.permissions.clone().unwrap();
    assert_eq!(permissions.publish.allow, ["app.>".into()]);
    let Login::Delegated(login) = &user.login else {
        panic!("{user:?}");
    };
    assert_eq!(login.until_ns, Some((NOW_S + 5) * 1_000_000_000));
    assert_eq!(world.with_token(|_| {}).unwrap().name(), "alice");
}

#[test]
fn other_answers_are_refused_with_their_reason() {
    let world = World::new();
    let issuer = key(Role::Account, 1).public_key();
    let token = world.token(|_| {});
    assert_eq!(
        why(world.take(b"")),
        "Auth callout violation: \"no reason supplied\" on account \"AUTH\""
    );
    assert_eq!(why(world.take(b"x")), "Expected 3 chunks");
    let other = world.answer(|answer| {
        answer.subject = key(Role::User, 2).public_key();
        answer.nats.jwt.clone_from(&token);
    });
    assert_eq!(
        why(world.take(other.as_bytes())),
        "Auth callout violation: auth callout response is not for expected user"
    );
    let other = world.answer(|answer| answer.nats.error = "go away".into());
    assert_eq!(
        why(world.take(other.as_bytes())),
        "Auth callout service returned an error: go away"
    );
    // Who signs it comes first, whatever it says.
    for (error, jwt) in [("", &*token), ("go away", "")] {
        let mut claims = AuthResponseClaims::about(&world.user);
        claims.audience.clone_from(&world.server);
        claims.nats.jwt = jwt.into();
        claims.nats.error = error.into();
        claims.nats.issuer_account.clone_from(&issuer);
        let strange = claims.encode(&key(Role::Account, 2)).unwrap();
        assert_eq!(
            why(world.take(strange.as_bytes())),
            "Auth callout signing key is unknown"
        );
    }
    assert_eq!(
        why(world.with_token(|user| user.expires = NOW_S - 1)),
        "Error validating user JWT: claim is expired"
    );
    assert_eq!(
        why(world.with_token(|user| user.audience = "NOPE".into())),
        "No valid account \"NOPE\" for auth callout response on account \"AUTH\": account missing"
    );
    assert_eq!(
        why(world.with_token(|user| user.nats.issuer_account.clone_from(&issuer))),
        "Error non operator mode account \"AUTH\": attempted to use issuer_account"
    );
    assert_eq!(
        why(world.with_token(|user| user.nats.may.proxy_required = true)),
        "Proxy connection required"
    );
}

#[test]
fn a_sealed_answer_is_opened() {
    let mut world = World::new();
    let service = Xkey::from_random(&[5; 32]);
    world.delegation.xkey = Some(service.public_key());
    let token = world.token(|_| {});
    let text = world.answer(|answer| answer.nats.jwt = token);
    let to = world.xkey.public_key();
    let sealed = service.seal(text.as_bytes(), &to, &[1; 24]).unwrap();
    assert!(world.take(&sealed).is_ok());
    assert!(world.take(text.as_bytes()).is_ok(), "it need not be sealed");
    let stranger = Xkey::from_random(&[6; 32]);
    let sealed = stranger.seal(text.as_bytes(), &to, &[1; 24]).unwrap();
    let why = why(world.take(&sealed));
    assert!(
        why.starts_with("Error decrypting auth callout response"),
        "{why}"
    );
}

#[test]
fn a_proxy_signs_for_those_who_need_one() {
    let proxy = key(Role::User, 9);
    let mut user = login("b", "B");
    user.proxy_required = true;
    let directory = build(&Plan {
        users: vec![user, login("free", "B")],
        proxies: vec![proxy.public_key()],
        ..Plan::default()
    });
    assert!(directory.needs_nonce());
    let with = |user: &str, signature: Option<String>| Credentials {
        proxy_sig: signature,
        ..given(user, "pw")
    };
    let good = sign(&proxy.seed(), b"nonce").unwrap();
    let bad = sign(&key(Role::User, 8).seed(), b"nonce").unwrap();
    let kind = PeerKind::Client;
    for (given, refusal) in [
        (with("b", Some(good.clone())), None),
        (with("free", Some(good)), None),
        (with("free", None), None),
        (with("b", None), Some(Refusal::ProxyRequired)),
        (with("b", Some(bad.clone())), Some(Refusal::ProxyNotTrusted)),
        (with("free", Some(bad)), Some(Refusal::ProxyNotTrusted)),
    ] {
        let verdict = judge(&directory, &given);
        assert_eq!(verdict == Verdict::Refuse, refusal.is_some(), "{given:?}");
        if let Some(refusal) = refusal {
            assert_eq!(directory.why_refused(&given, "nonce", kind), refusal);
        }
    }
    let wrong = directory.why_refused(&given("free", "no"), "nonce", kind);
    assert_eq!(wrong, Refusal::Credentials);
    assert_eq!(
        directory.proxied(&given("free", "pw"), "nonce"),
        Proxied::No
    );
}
