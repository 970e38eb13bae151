use std::collections::BTreeMap;
use std::net::IpAddr;

use super::claimed::NANOS;
use super::*;
use crate::jwt::{
    AccountClaims, OperatorClaims, OperatorLimits, Permission, TimeRange, UserClaims,
    UserPermissionLimits, UserScope,
};
use crate::nkey::{KeyPair, Role, sign};
use crate::{
    Caller, Credentials, Directory, Identity, JwtRefusal, Login, PeerKind, Plan, Question,
    Standing, User, Verdict,
};

const NOW_S: i64 = 1_800_000_000;
const NONCE: &str = "a-nonce";

/// An operator with one account, and the keys of both.
struct World {
    operator: KeyPair,
    account: KeyPair,
    signer: KeyPair,
    user: KeyPair,
    trust: Trust,
    directory: Directory,
}

impl World {
    fn new(change: impl FnOnce(&mut AccountClaims, &KeyPair)) -> Self {
        let key = |role, n: u8| KeyPair::from_random(role, &[n; 32]);
        let operator = key(Role::Operator, 1);
        let (account, signer) = (key(Role::Account, 2), key(Role::Account, 3));
        let mut trust = Trust::default();
        trust.add(&OperatorClaims::about(&operator.public_key()));
        let mut world = Self {
            directory: with_trust(&trust),
            trust,
            operator,
            account,
            signer,
            user: key(Role::User, 4),
        };
        world.put(change);
        world
    }

    fn put(&mut self, change: impl FnOnce(&mut AccountClaims, &KeyPair)) {
        let mut claims = AccountClaims::about(&self.account.public_key());
        claims.issued_at = NOW_S;
        claims.name = "ACME".into();
        claims.nats.limits = OperatorLimits::unlimited();
        change(&mut claims, &self.signer);
        let text = claims.encode(&self.operator).unwrap();
        let account = ClaimedAccount::verify(&text, &self.trust, NOW_S * NANOS).unwrap();
        self.directory.put_claims(account).unwrap();
    }

    /// A user's JWT signed by `by`.
    fn jwt(&self, by: &KeyPair, change: impl FnOnce(&mut UserClaims)) -> String {
        let mut claims = UserClaims::about(&self.user.public_key());
        claims.issued_at = NOW_S;
        claims.name = "till".into();
        if by.public_key() != self.account.public_key() {
            claims.nats.issuer_account = self.account.public_key();
        }
        claims.nats.may = UserPermissionLimits::unlimited();
        change(&mut claims);
        claims.encode(by).unwrap()
    }

    fn judge(&self, jwt: String) -> Verdict {
        self.judge_from(jwt, "10.1.2.3", PeerKind::Client)
    }

    fn judge_from(&self, jwt: String, ip: &str, kind: PeerKind) -> Verdict {
        let given = Credentials {
            jwt: Some(jwt),
            sig: Some(sign(&self.user.seed(), NONCE.as_bytes()).unwrap()),
            ..Credentials::default()
        };
        let ip: IpAddr = ip.parse().unwrap();
        let caller = Caller {
            ip: Some(ip),
            wall_ns: NOW_S * NANOS,
            ..Caller::plain(kind)
        };
        self.directory.authenticate(&given, NONCE, &caller)
    }

    fn user(&self, change: impl FnOnce(&mut UserClaims)) -> User {
        accepted(self.judge(self.jwt(&self.account, change)))
    }

    fn is_let_in(&self, change: impl FnOnce(&mut UserClaims)) -> bool {
        matches!(
            self.judge(self.jwt(&self.account, change)),
            Verdict::Accept(_)
        )
    }
}

fn with_trust(trust: &Trust) -> Directory {
    let plan = Plan {
        trust: Some(trust.clone()),
        ..Plan::default()
    };
    Directory::build(&plan, None).unwrap()
}

fn accepted(verdict: Verdict) -> User {
    let Verdict::Accept(Identity {
        user: Some(user), ..
    }) = verdict
    else {
        panic!("{verdict:?}");
    };
    User::clone(&user)
}

fn jwt_of(user: &User) -> &JwtUser {
    let Login::Jwt(user) = &user.login else {
        panic!("{:?}", user.login);
    };
    user
}

#[test]
fn a_user_of_a_vouched_account_is_let_in() {
    let world = World::new(|_, _| {});
    let user = world.user(|user| user.nats.may.permissions.publish.allow = vec!["a".into()]);
    assert_eq!(user.login.name(), world.user.public_key());
    assert!(user.permissions.as_ref().unwrap().may_publish("a"));
    assert!(!user.permissions.as_ref().unwrap().may_publish("b"));
    let account = world.directory.account(user.account).unwrap();
    assert_eq!(*account.name, *world.account.public_key());
    assert!(world.directory.auth_required() && world.directory.needs_nonce());
    let caller = Caller::plain(PeerKind::Client);
    assert_eq!(world.directory.without_connect(&caller), Verdict::Refuse);
}

#[test]
fn an_account_that_is_not_here_is_asked_for() {
    let world = World::new(|_, _| {});
    let other = KeyPair::from_random(Role::Account, &[9; 32]);
    let mut claims = UserClaims::about(&world.user.public_key());
    claims.nats.may = UserPermissionLimits::unlimited();
    let jwt = claims.encode(&other).unwrap();
    let key = other.public_key();
    let asked = Verdict::Ask(Question::Account { key });
    assert_eq!(world.judge(jwt), asked);
}

#[test]
fn nobody_is_let_in_without_what_it_needs() {
    let world = World::new(|_, _| {});
    let refused = |jwt: Option<String>, sig: Option<String>| {
        let given = Credentials {
            jwt,
            sig,
            user: Some("a".into()),
            ..Credentials::default()
        };
        let caller = Caller::plain(PeerKind::Client);
        let verdict = world.directory.authenticate(&given, NONCE, &caller);
        matches!(verdict, Verdict::RefuseFor(_))
    };
    let good = world.jwt(&world.account, |_| {});
    let sig = sign(&world.user.seed(), NONCE.as_bytes()).unwrap();
    assert!(refused(None, Some(sig.clone())), "no JWT");
    assert!(refused(Some("x".into()), Some(sig.clone())), "none at all");
    assert!(refused(Some(good.clone()), None), "no signature");
    let other = sign(&world.user.seed(), b"another nonce").unwrap();
    assert!(refused(Some(good.clone()), Some(other)), "a used signature");
    assert!(!refused(Some(good), Some(sig)));
    let stranger = world.jwt(&world.signer, |_| {});
    let why = JwtRefusal::debug("User JWT issuer is not known");
    assert_eq!(world.judge(stranger), Verdict::RefuseFor(why));
}

#[test]
fn a_bearer_needs_no_signature_where_bearers_are_allowed() {
    for (allowed, disallow) in [(true, false), (false, true)] {
        let world = World::new(|claims, _| claims.nats.limits.disallow_bearer = disallow);
        let given = Credentials {
            jwt: Some(world.jwt(&world.account, |user| user.nats.may.bearer_token = true)),
            ..Credentials::default()
        };
        let caller = Caller::plain(PeerKind::Client);
        let verdict = world.directory.authenticate(&given, NONCE, &caller);
        assert_eq!(matches!(verdict, Verdict::Accept(_)), allowed);
    }
}

#[test]
fn a_sentinel_stands_in_for_those_without_a_jwt() {
    let mut world = World::new(|_, _| {});
    world.trust.sentinel = Some(world.jwt(&world.account, |user| {
        user.nats.may.bearer_token = true;
        user.name = "nobody".into();
    }));
    let former = world.directory.clone();
    let plan = Plan {
        trust: Some(world.trust.clone()),
        ..Plan::default()
    };
    world.directory = Directory::build(&plan, Some(&former)).unwrap();
    let caller = Caller::plain(PeerKind::Client);
    let verdict = world
        .directory
        .authenticate(&Credentials::default(), NONCE, &caller);
    assert_eq!(jwt_of(&accepted(verdict)).name, "nobody");
}

#[test]
fn times_networks_and_ways_restrict_a_user() {
    let world = World::new(|_, _| {});
    assert!(!world.is_let_in(|user| user.expires = NOW_S - 1), "expired");
    assert!(
        !world.is_let_in(|user| user.not_before = NOW_S + 1),
        "early"
    );
    assert_eq!(
        jwt_of(&world.user(|user| user.expires = NOW_S + 5)).until_ns,
        Some((NOW_S + 5) * NANOS)
    );
    assert!(!world.is_let_in(|user| user.nats.may.src = vec!["10.2.0.0/16".into()]));
    assert!(world.is_let_in(|user| user.nats.may.src = vec!["10.1.0.0/16".into()]));
    let ways =
        |ways: &[&str]| -> Vec<String> { ways.iter().map(|way| (*way).to_owned()).collect() };
    for (only, client, leaf) in [
        (ways(&["STANDARD"]), true, false),
        (ways(&["leafnode", "NEWFANGLED"]), false, true),
        (ways(&["NEWFANGLED"]), false, false),
    ] {
        for (kind, welcome) in [(PeerKind::Client, client), (PeerKind::Leafnode, leaf)] {
            let only = only.clone();
            let jwt = world.jwt(&world.account, |user| {
                user.nats.may.allowed_connection_types = only
            });
            let verdict = world.judge_from(jwt, "::1", kind);
            assert_eq!(matches!(verdict, Verdict::Accept(_)), welcome, "{kind:?}");
        }
    }
}

#[test]
fn a_time_of_the_day_ends_a_stay_in_the_zone_it_names() {
    let mut world = World::new(|_, _| {});
    // 08:00:00 UTC on that day.
    assert_eq!(NOW_S % 86_400, 8 * 3600);
    let at = |start: &str, end: &str, zone: &str| {
        let range = TimeRange {
            start: start.to_owned(),
            end: end.to_owned(),
        };
        let zone = zone.to_owned();
        move |user: &mut UserClaims| {
            user.nats.may.times = vec![range];
            user.nats.may.times_location = zone;
        }
    };
    let until = jwt_of(&world.user(at("07:00:00", "09:00:00", ""))).until_ns;
    assert_eq!(until, Some((NOW_S + 3600) * NANOS));
    assert!(!world.is_let_in(at("09:00:00", "10:00:00", "UTC")));
    let there = at("09:00:00", "12:00:00", "Europe/Berlin");
    let jwt = world.jwt(&world.account, there);
    let name = "Europe/Berlin".to_owned();
    assert_eq!(
        world.judge(jwt.clone()),
        Verdict::Ask(Question::Zone { name })
    );
    let zone = Zone {
        first_offset_s: 7200,
        changes: Vec::new(),
    };
    world.directory.put_zone("Europe/Berlin", zone);
    let until = jwt_of(&accepted(world.judge(jwt))).until_ns;
    assert_eq!(until, Some((NOW_S + 2 * 3600) * NANOS));
}

#[test]
fn a_scoped_key_gives_its_users_what_it_says() {
    let scope = |claims: &mut AccountClaims, signer: &KeyPair, allow: &str| {
        let key = signer.public_key();
        let mut template = UserPermissionLimits::unlimited();
        template.subs = 7;
        template.permissions.publish = Permission {
            allow: vec![allow.to_owned()],
            deny: Vec::new(),
        };
        let scope = UserScope {
            kind: "user_scope".into(),
            key: key.clone(),
            template,
            ..UserScope::default()
        };
        claims.nats.signing_keys.0.insert(key, Some(scope));
    };
    let mut world = World::new(|claims, signer| scope(claims, signer, "shop.{{name()}}.>"));
    let empty = |user: &mut UserClaims| user.nats.may = UserPermissionLimits::default();
    let user = accepted(world.judge(world.jwt(&world.signer, empty)));
    let permissions = user.permissions.as_ref().unwrap();
    assert!(permissions.may_publish("shop.till.x") && !permissions.may_publish("shop.other.x"));
    assert_eq!(jwt_of(&user).subscriptions_max, Some(7));
    assert_eq!(
        world.judge(world.jwt(&world.signer, |_| {})),
        Verdict::RefuseFor(JwtRefusal::debug(
            "User JWT is not valid: scoped users require no permissions or limits set"
        )),
        "says too much"
    );
    let same = |world: &World| world.directory.standing(&user, PeerKind::Client);
    assert!(matches!(same(&world), Standing::Same(_)));
    world.put(|claims, signer| scope(claims, signer, "other.>"));
    assert_eq!(same(&world), Standing::Unsigned);
    world.put(|_, _| {});
    assert_eq!(same(&world), Standing::Unsigned);
}

#[test]
fn a_revocation_voids_what_was_issued_before() {
    let mut world = World::new(|_, _| {});
    let old = world.user(|_| {});
    let new = world.user(|user| user.issued_at = NOW_S + 1);
    let key = world.user.public_key();
    for who in [key.as_str(), "*"] {
        let revoked = BTreeMap::from([(who.to_owned(), NOW_S)]);
        world.put(|claims, _| claims.nats.revocations = revoked);
        let standing = |user: &User| world.directory.standing(user, PeerKind::Client);
        assert_eq!(standing(&old), Standing::Revoked, "{who}");
        assert!(matches!(standing(&new), Standing::Same(_)), "{who}");
        assert!(!world.is_let_in(|_| {}), "{who}");
        assert!(world.is_let_in(|user| user.issued_at = NOW_S + 1), "{who}");
    }
}

#[test]
fn default_permissions_are_for_users_without_their_own_and_change_with_the_account() {
    let allow = |subject: &str| {
        let subject = subject.to_owned();
        move |claims: &mut AccountClaims, _: &KeyPair| {
            claims.nats.default_permissions.publish.allow = vec![subject];
        }
    };
    let mut world = World::new(allow("a"));
    let user = world.user(|_| {});
    assert!(!user.permissions.as_ref().unwrap().may_publish("b"));
    world.put(allow("b"));
    let Standing::Same(user) = world.directory.standing(&user, PeerKind::Client) else {
        panic!("not the same");
    };
    assert!(user.permissions.as_ref().unwrap().may_publish("b"));
}

#[test]
fn an_account_ends_with_its_jwt_or_when_it_is_taken_back() {
    let mut world = World::new(|claims, _| claims.expires = NOW_S + 1);
    assert!(world.is_let_in(|_| {}));
    let id = world.directory.find(&world.account.public_key()).unwrap();
    let expired =
        |world: &World, at: i64| world.directory.claimed(id).unwrap().is_expired(at * NANOS);
    assert!(!expired(&world, NOW_S) && expired(&world, NOW_S + 1));
    let user = world.user(|_| {});
    assert!(world.directory.delete_claims(id));
    assert!(!world.is_let_in(|_| {}));
    assert_eq!(
        world.directory.standing(&user, PeerKind::Client),
        Standing::Expired
    );
    world.put(|_, _| {});
    assert!(world.is_let_in(|_| {}));
}

#[test]
fn a_strict_operator_wants_signing_keys_everywhere() {
    let key = |n: u8| KeyPair::from_random(Role::Operator, &[n; 32]);
    let (operator, signing) = (key(1), key(5));
    let mut claims = OperatorClaims::about(&operator.public_key());
    claims.nats.strict_signing_key_usage = true;
    claims.nats.signing_keys = vec![signing.public_key()];
    let mut trust = Trust::default();
    trust.add(&claims);
    let account = KeyPair::from_random(Role::Account, &[2; 32]);
    let mut said = AccountClaims::about(&account.public_key());
    said.nats.limits = OperatorLimits::unlimited();
    let by_operator = said.encode(&operator).unwrap();
    assert!(ClaimedAccount::verify(&by_operator, &trust, 0).is_err());
    let by_signing = said.encode(&signing).unwrap();
    let account = ClaimedAccount::verify(&by_signing, &trust, 0).unwrap();
    let mut world = World::new(|_, _| {});
    world.directory = with_trust(&trust);
    world.directory.put_claims(account).unwrap();
    assert!(
        !world.is_let_in(|_| {}),
        "the account's own key signs no users"
    );
}

#[test]
fn pinned_accounts_are_the_only_ones() {
    let mut world = World::new(|_, _| {});
    world
        .trust
        .pinned
        .insert(KeyPair::from_random(Role::Account, &[9; 32]).public_key());
    let plan = Plan {
        trust: Some(world.trust.clone()),
        ..Plan::default()
    };
    world.directory = Directory::build(&plan, Some(&world.directory)).unwrap();
    assert!(!world.is_let_in(|_| {}));
}

#[test]
fn claims_survive_a_reload_while_their_operator_is_trusted() {
    let mut world = World::new(|_, _| {});
    let id = world.directory.find(&world.account.public_key());
    let plan = |trust: &Trust| Plan {
        trust: Some(trust.clone()),
        ..Plan::default()
    };
    world.directory = Directory::build(&plan(&world.trust), Some(&world.directory)).unwrap();
    assert_eq!(world.directory.find(&world.account.public_key()), id);
    assert!(world.is_let_in(|_| {}));
    let other = Directory::build(&plan(&Trust::default()), Some(&world.directory)).unwrap();
    assert_eq!(other.find(&world.account.public_key()), None);
}

#[test]
fn an_account_may_leave_it_to_a_service_who_its_users_are() {
    let mut world = World::new(|_, _| {});
    let user = world.user.public_key();
    let other = KeyPair::from_random(Role::User, &[5; 32]).public_key();
    world.put(|account, _| {
        account.nats.authorization.auth_users = vec![other];
        account.nats.default_permissions.publish.allow = vec!["a".into()];
    });
    let verdict = world.judge(world.jwt(&world.account, |_| {}));
    let Verdict::Ask(Question::Callout(asked)) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(asked.subject, world.account.public_key());
    assert_eq!(asked.jwt.unwrap().subject, user);
    world.put(|account, _| {
        account.nats.authorization.auth_users = vec![user];
        account.nats.default_permissions.publish.allow = vec!["a".into()];
    });
    let may_not_ask = |user: &User| {
        let permissions = user.permissions.as_ref().unwrap();
        assert_eq!(permissions.publish.allow, ["a".into()]);
        assert_eq!(permissions.publish.deny, [crate::AUTH_SUBJECT.into()]);
    };
    let service = world.user(|_| {});
    may_not_ask(&service);
    let Standing::Same(after) = world.directory.standing(&service, PeerKind::Client) else {
        panic!("it goes");
    };
    may_not_ask(&after);
}
