use super::*;
use crate::nkey::{KeyPair, sign};
use crate::{
    AccountPlan, Caller, CertMaps, Credentials, Identity, PeerCert, PeerKind, Question, Secret,
    TlsSession, Transport, Verdict,
};

const HASH: &str = "$2a$04$ootaaL3ZM9MnQmqcuF5MGu2OoI4mNOxSF2DlyU3n6zo5h1fhrVTOu";

fn password(name: &str, pass: &str, account: Option<&str>) -> UserPlan {
    UserPlan {
        only: None,
        proxy_required: false,
        login: Login::Password {
            user: name.into(),
            secret: Secret::new(pass),
        },
        account: account.map(Into::into),
        permissions: None,
    }
}

fn user(name: &str, pass: &str) -> Credentials {
    Credentials {
        user: Some(name.into()),
        pass: Some(pass.into()),
        ..Credentials::default()
    }
}

fn who(directory: &Directory, given: &Credentials, kind: PeerKind) -> Option<(String, String)> {
    match directory.authenticate(given, "nonce", &Caller::plain(kind)) {
        Verdict::Accept(identity) => {
            let account = directory.account(identity.account).unwrap();
            Some((account.name.to_string(), identity.name().to_owned()))
        }
        Verdict::Refuse | Verdict::RefuseFor(_) | Verdict::Ask(_) => None,
    }
}

fn pair(account: &str, name: &str) -> Option<(String, String)> {
    Some((account.into(), name.into()))
}

#[test]
fn without_users_everyone_is_in_the_default_account() {
    let directory = Directory::open_to_all();
    assert!(!directory.auth_required() && !directory.needs_nonce());
    for given in [Credentials::default(), user("x", "y")] {
        assert_eq!(who(&directory, &given, PeerKind::Client), pair("$G", ""));
    }
    assert_ne!(directory.system_account(), directory.default_account());
}

#[test]
fn a_user_needs_its_own_password() {
    let plan = Plan {
        users: vec![password("a", "pa", Some("A")), password("b", HASH, None)],
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    let client = |given: &Credentials| who(&directory, given, PeerKind::Client);
    assert_eq!(client(&user("a", "pa")), pair("A", "a"));
    assert_eq!(client(&user("a", "pb")), None);
    assert_eq!(client(&user("c", "pa")), None);
    assert_eq!(client(&Credentials::default()), None);
    assert_eq!(
        directory.without_connect(&Caller::plain(PeerKind::Client)),
        Verdict::Refuse
    );
    let asked = directory.authenticate(&user("b", "pw"), "", &Caller::plain(PeerKind::Client));
    assert!(
        matches!(asked, Verdict::Ask(Question::Bcrypt { hash, password, then })
        if hash == HASH && password == "pw" && then.name() == "b")
    );
    assert_eq!(
        who(&directory, &user("a", "pa"), PeerKind::Leafnode),
        pair("A", "a")
    );
}

#[test]
fn a_token_is_checked_and_never_shown() {
    let plan = Plan {
        users: vec![UserPlan {
            only: None,
            proxy_required: false,
            login: Login::Token(Secret::new("t0k")),
            account: None,
            permissions: None,
        }],
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    let token = |text: &str| Credentials {
        auth_token: Some(text.into()),
        ..Credentials::default()
    };
    let good = who(&directory, &token("t0k"), PeerKind::Client);
    assert_eq!(good, pair("$G", "[REDACTED]"));
    assert_eq!(who(&directory, &token("t0K"), PeerKind::Client), None);
    assert!(!format!("{directory:?}").contains("t0k"));
}

/// spec: nats-server v2.15.1 server/auth.go `processClientOrLeafAuthentication`: a client that
/// knows several servers gives each all it has.
#[test]
fn what_nobody_here_is_asked_for_is_overlooked() {
    let token = UserPlan {
        proxy_required: false,
        only: None,
        login: Login::Token(Secret::new("t")),
        account: None,
        permissions: None,
    };
    let all = Credentials {
        auth_token: Some("t".into()),
        nkey: Some("UNOBODY".into()),
        sig: Some("x".into()),
        ..user("a", "pa")
    };
    for login in [token, password("a", "pa", None)] {
        let plan = Plan {
            users: vec![login],
            ..Plan::default()
        };
        let directory = Directory::build(&plan, None).unwrap();
        assert!(who(&directory, &all, PeerKind::Client).is_some());
    }
}

#[test]
fn an_nkey_user_signs_the_nonce() {
    let key = KeyPair::from_random(Role::User, &[3; 32]);
    let plan = Plan {
        users: vec![UserPlan {
            only: None,
            proxy_required: false,
            login: Login::Nkey(key.public_key()),
            account: Some("N".into()),
            permissions: None,
        }],
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    assert!(directory.needs_nonce());
    let given = |signed: &str| Credentials {
        nkey: Some(key.public_key()),
        sig: Some(sign(&key.seed(), signed.as_bytes()).unwrap()),
        ..Credentials::default()
    };
    let good = who(&directory, &given("nonce"), PeerKind::Client);
    assert_eq!(good, pair("N", &key.public_key()));
    assert_eq!(who(&directory, &given("old nonce"), PeerKind::Client), None);
}

/// nats-server 2.15.1 with `accounts { SYS: { users: [...] } }` and `system_account: SYS` alone.
#[test]
fn system_users_alone_close_the_server_to_nobody() {
    let mut plan = Plan {
        users: vec![password("sys", "s", Some("SYS"))],
        system_account: Some("SYS".into()),
        global_is_open: true,
        ..Plan::default()
    };
    let open = Directory::build(&plan, None).unwrap();
    assert!(open.auth_announced() && open.takes_nobody());
    let silent = Credentials::default();
    for kind in [PeerKind::Client, PeerKind::Leafnode] {
        assert_eq!(who(&open, &silent, kind), pair("$G", ""));
        assert_eq!(who(&open, &user("sys", "s"), kind), pair("SYS", "sys"));
        assert_eq!(who(&open, &user("sys", "x"), kind), None);
        assert_eq!(who(&open, &user("other", ""), kind), None);
    }
    let verdict = open.without_connect(&Caller::plain(PeerKind::Client));
    assert!(matches!(
        verdict,
        Verdict::Accept(Identity { user: None, .. })
    ));
    plan.leaf_users = vec![password("l", "l", None)];
    let leafs_apart = Directory::build(&plan, None).unwrap();
    assert_eq!(who(&leafs_apart, &silent, PeerKind::Leafnode), None);
    plan.global_is_open = false;
    let closed = Directory::build(&plan, None).unwrap();
    assert_eq!(who(&closed, &silent, PeerKind::Client), None);
    assert!(!closed.takes_nobody());
}

#[test]
fn the_no_auth_user_is_for_those_who_say_nothing() {
    let mut plan = Plan {
        users: vec![password("a", "pa", Some("A"))],
        no_auth_user: Some("a".into()),
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    assert!(directory.auth_required() && !directory.auth_announced());
    let silent = Credentials::default();
    assert_eq!(who(&directory, &silent, PeerKind::Client), pair("A", "a"));
    assert_eq!(who(&directory, &user("a", "x"), PeerKind::Client), None);
    let verdict = directory.without_connect(&Caller::plain(PeerKind::Client));
    assert_eq!(verdict.expected().map(Identity::name), Some("a"));
    plan.no_auth_user = Some("zz".into());
    let refused = Directory::build(&plan, None).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "no_auth_user: \"zz\" not present as user or nkey in authorization block or account configuration"
    );
}

#[test]
fn leafnodes_have_their_own_users_when_there_are_any() {
    let plan = Plan {
        users: vec![password("a", "pa", None)],
        leaf_users: vec![password("l", "pl", Some("L"))],
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    let leaf = |given: &Credentials| who(&directory, given, PeerKind::Leafnode);
    assert_eq!(leaf(&user("l", "pl")), pair("L", "l"));
    assert_eq!(leaf(&user("a", "pa")), None);
    let open = Plan {
        leaf_account: Some("X".into()),
        ..Plan::default()
    };
    let directory = Directory::build(&open, None).unwrap();
    assert_eq!(
        who(&directory, &user("q", ""), PeerKind::Leafnode),
        pair("X", "")
    );
}

/// A certificate names the user of the leafnodes' own block, and does not stand for its password.
///
/// spec: nats-server v2.15.1 server/auth.go `isLeafNodeAuthorized`
#[test]
fn a_leafnodes_certificate_is_asked_for_a_password_where_leafnodes_have_users() {
    let tls = TlsSession {
        peer: Some(PeerCert {
            emails: vec!["l@x".into()],
            ..PeerCert::default()
        }),
        ..TlsSession::default()
    };
    let caller = Caller {
        tls: Some(&tls),
        ..Caller::plain(PeerKind::Leafnode)
    };
    let cert_maps = CertMaps {
        leafs: true,
        ..CertMaps::default()
    };
    let users = vec![password("l@x", "pl", None)];
    let own = Plan {
        leaf_users: users.clone(),
        cert_maps,
        ..Plan::default()
    };
    let shared = Plan {
        users,
        cert_maps,
        ..Plan::default()
    };
    for (plan, given, comes_in) in [
        (&own, "pl", true),
        (&own, "x", false),
        (&own, "", false),
        (&shared, "", true),
    ] {
        let directory = Directory::build(plan, None).unwrap();
        let verdict = directory.authenticate(&user("another", given), "", &caller);
        assert_eq!(matches!(verdict, Verdict::Accept(_)), comes_in, "{given}");
    }
}

#[test]
fn twice_the_same_user_is_refused() {
    let plan = Plan {
        users: vec![password("a", "1", None), password("a", "2", Some("B"))],
        ..Plan::default()
    };
    let refused = Directory::build(&plan, None).unwrap_err();
    assert_eq!(refused, DirectoryError::DuplicateUser("a".into()));
}

#[test]
fn ids_and_unchanged_users_survive_a_reload() {
    let account = |name: &str| AccountPlan {
        name: name.into(),
        ..AccountPlan::default()
    };
    let plan = Plan {
        accounts: vec![account("A"), account("B")],
        users: vec![password("a", "1", Some("A")), password("b", "1", Some("B"))],
        ..Plan::default()
    };
    let first = Directory::build(&plan, None).unwrap();
    let next = Plan {
        accounts: vec![account("C"), account("B")],
        users: vec![password("c", "1", Some("C")), password("b", "2", Some("B"))],
        ..Plan::default()
    };
    let second = Directory::build(&next, Some(&first)).unwrap();
    assert_eq!(second.find("B"), first.find("B"));
    assert_eq!(second.find("A"), None);
    assert!(second.find("C").unwrap() > first.find("B").unwrap());
    let identity = |directory: &Directory, name: &str, pass: &str| -> Identity {
        match directory.authenticate(&user(name, pass), "", &Caller::plain(PeerKind::Client)) {
            Verdict::Accept(identity) => identity,
            Verdict::Refuse | Verdict::RefuseFor(_) | Verdict::Ask(_) => panic!("{name}"),
        }
    };
    let changed = identity(&first, "b", "1").user.unwrap();
    let client = PeerKind::Client;
    assert_eq!(second.standing(&changed, client), Standing::Changed);
    let same = identity(&second, "c", "1").user.unwrap();
    assert_eq!(
        second.standing(&same, client),
        Standing::Same(Arc::clone(&same))
    );
    let gone = identity(&first, "a", "1").user.unwrap();
    assert_eq!(second.standing(&gone, client), Standing::Gone);
}

/// spec: nats-server v2.15.1 server/auth.go `connectionTypes`
#[test]
fn a_user_comes_in_only_by_the_ways_it_may() {
    let only = |kind| UserPlan {
        only: Some(vec![Caller::plain(kind).connection_type()]),
        proxy_required: false,
        ..password("a", "pa", None)
    };
    for (allowed, other) in [
        (PeerKind::Client, PeerKind::Leafnode),
        (PeerKind::Leafnode, PeerKind::Client),
    ] {
        let plan = Plan {
            users: vec![only(allowed)],
            ..Plan::default()
        };
        let directory = Directory::build(&plan, None).unwrap();
        assert_eq!(who(&directory, &user("a", "pa"), allowed), pair("$G", "a"));
        assert_eq!(who(&directory, &user("a", "pa"), other), None);
    }
    let nowhere = UserPlan {
        only: Some(vec![]),
        proxy_required: false,
        ..password("a", HASH, None)
    };
    let plan = Plan {
        users: vec![nowhere],
        no_auth_user: Some("a".into()),
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    let verdict =
        directory.authenticate(&user("a", "x"), "nonce", &Caller::plain(PeerKind::Client));
    assert_eq!(verdict, Verdict::Refuse);
    assert_eq!(
        directory.without_connect(&Caller::plain(PeerKind::Client)),
        Verdict::Refuse
    );
}

#[test]
fn who_comes_by_websocket_may_be_asked_for_something_else() {
    let caller = Caller {
        transport: Transport::WebSocket,
        ..Caller::plain(PeerKind::Client)
    };
    let by_websocket = |directory: &Directory, given: &Credentials| match directory
        .authenticate(given, "nonce", &caller)
    {
        Verdict::Accept(identity) => Some(identity.name().to_owned()),
        Verdict::Refuse | Verdict::RefuseFor(_) | Verdict::Ask(_) => None,
    };
    let mut plan = Plan {
        users: vec![password("global", "g", None)],
        websockets: Some(crate::DoorPlan {
            users: vec![password("web", "w", None)],
            no_auth_user: None,
        }),
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    let client = PeerKind::Client;
    assert_eq!(
        by_websocket(&directory, &user("web", "w")),
        Some("web".into())
    );
    assert_eq!(by_websocket(&directory, &user("global", "g")), None);
    assert_eq!(who(&directory, &user("web", "w"), client), None);
    assert_eq!(
        who(&directory, &user("global", "g"), client),
        pair("$G", "global")
    );
    assert_eq!(directory.without_connect(&caller), Verdict::Refuse);
    // Everybody else may come without credentials.
    plan.users.clear();
    let directory = Directory::build(&plan, None).unwrap();
    assert!(!directory.auth_required());
    assert!(directory.auth_announced_over(Transport::WebSocket));
    assert_eq!(by_websocket(&directory, &Credentials::default()), None);
    // A user known by the door stays across a reload.
    let Verdict::Accept(identity) = directory.authenticate(&user("web", "w"), "", &caller) else {
        panic!("refused");
    };
    let former = identity.user.unwrap();
    let next = Directory::build(&plan, Some(&directory)).unwrap();
    assert!(matches!(next.standing(&former, client), Standing::Same(_)));
    // Or nobody has to say anything.
    plan.websockets = Some(crate::DoorPlan {
        users: vec![password("web", "w", None)],
        no_auth_user: Some("web".into()),
    });
    let directory = Directory::build(&plan, None).unwrap();
    assert!(matches!(
        directory.without_connect(&caller),
        Verdict::Accept(_)
    ));
    assert_eq!(
        by_websocket(&directory, &Credentials::default()),
        Some("web".into())
    );
}

#[test]
fn only_who_comes_from_within_may_choose_an_account() {
    let plan = Plan {
        users: vec![password("a", "pa", Some("A"))],
        accounts: vec![AccountPlan {
            name: "A".to_owned(),
            ..AccountPlan::default()
        }],
        ..Plan::default()
    };
    let directory = Directory::build(&plan, None).unwrap();
    let given = |account: &str| Credentials {
        account: Some(account.to_owned()),
        ..Credentials::default()
    };
    let outside = Caller::plain(PeerKind::Client);
    let within = Caller {
        transport: Transport::InProcess,
        ..outside
    };
    let verdict = |account, caller| directory.authenticate(&given(account), "", caller);
    let Verdict::Accept(who) = verdict("A", &within) else {
        panic!("refused");
    };
    assert_eq!(Some(who.account), directory.find("A"));
    assert!(matches!(verdict("B", &within), Verdict::Refuse));
    assert!(matches!(verdict("A", &outside), Verdict::Refuse));
}
