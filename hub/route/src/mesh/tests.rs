use super::*;
use frond_config::Config;

fn mesh(pool_size: Option<u32>, pinned: &[&str]) -> Mesh {
    let mut plan = Plan::configured(&Config::default(), None, 6222);
    plan.pool_size = pool_size;
    plan.pinned = pinned.iter().map(ToString::to_string).collect();
    Mesh::new(plan, "made up".to_owned())
}

fn peer(pool_size: i64) -> ServerInfo {
    ServerInfo {
        server_id: "NPEER".to_owned(),
        route_pool_size: pool_size,
        ..ServerInfo::default()
    }
}

fn asked<'a>(link: u32, info: &'a ServerInfo, index: Option<i64>) -> Asked<'a> {
    Asked {
        link: LinkId(link),
        info,
        account: None,
        index,
        is_configured: false,
    }
}

#[test]
fn a_dialer_takes_the_first_free_place_of_the_larger_pool() {
    let (mesh, info) = (mesh(Some(2), &[]), peer(3));
    for (link, index) in [(1, 0), (2, 1), (3, 2)] {
        let joined = mesh.join(asked(link, &info, None)).unwrap();
        assert_eq!(joined.place, Place::Pool(index));
        assert_eq!((joined.is_first, joined.is_news), (index == 0, index == 0));
    }
    assert!(!mesh.has_room("NPEER"));
    assert_eq!(
        mesh.join(asked(4, &info, None)).unwrap_err(),
        NoPlace::Taken
    );
    mesh.leave("NPEER", &Place::Pool(1), LinkId(2));
    let joined = mesh.join(asked(5, &info, None)).unwrap();
    assert_eq!((joined.place, joined.is_first), (Place::Pool(1), false));
}

#[test]
fn an_acceptor_gives_the_place_that_the_dialer_chose_or_refuses_it() {
    let (mesh, info) = (mesh(Some(3), &[]), peer(3));
    let place = mesh.join(asked(1, &info, Some(2))).unwrap().place;
    assert_eq!(place, Place::Pool(2));
    let taken = mesh.join(asked(2, &info, Some(2))).unwrap_err();
    assert_eq!(taken, NoPlace::Taken);
    for index in [-1, 3] {
        let text = format!("Invalid route pool index: {index} - pool size is 3");
        let refused = mesh.join(asked(3, &info, Some(index))).unwrap_err();
        assert_eq!(refused, NoPlace::Impossible(text));
    }
}

#[test]
fn without_a_pool_on_either_side_there_is_one_connection_for_all_accounts() {
    for (own, theirs) in [(None, 3), (Some(3), 0), (None, 0)] {
        let (mesh, info) = (mesh(own, &["A"]), peer(theirs));
        let place = mesh.join(asked(1, &info, Some(0))).unwrap().place;
        assert_eq!(place, Place::Only);
        assert!(mesh.carries(&place, "A") && mesh.carries(&place, "B"));
        let again = mesh.join(asked(2, &info, Some(0))).unwrap_err();
        assert_eq!(again, NoPlace::Taken);
        let pinned = Asked {
            account: Some("A"),
            ..asked(3, &info, None)
        };
        let text = "Not possible to have a dedicated route for account \"A\" between those servers";
        let refused = mesh.join(pinned).unwrap_err();
        assert_eq!(refused, NoPlace::Impossible(text.to_owned()));
    }
}

#[test]
fn an_account_goes_over_exactly_one_place() {
    let mesh = mesh(Some(3), &["SYS"]);
    let places = [
        Place::Pool(0),
        Place::Pool(1),
        Place::Pool(2),
        Place::Pinned("SYS".into()),
    ];
    for account in ["$G", "SYS", "A", "B", "C", "D"] {
        let carrying = places.iter().filter(|place| mesh.carries(place, account));
        assert_eq!(carrying.count(), 1, "{account}");
    }
    assert!(mesh.carries(&Place::Pinned("SYS".into()), "SYS"));
}

#[test]
fn an_account_that_is_not_pinned_here_gets_no_connection_of_its_own() {
    let (mesh, info) = (mesh(Some(3), &["A"]), peer(3));
    let pinned = |account| Asked {
        account: Some(account),
        ..asked(1, &info, Some(0))
    };
    let joined = mesh.join(pinned("A")).unwrap();
    assert_eq!(joined.place, Place::Pinned("A".into()));
    assert!(joined.is_news);
    let refused = mesh.join(pinned("B")).unwrap_err();
    let text = "No route for account \"B\"".to_owned();
    assert_eq!(refused, NoPlace::Impossible(text));
}

#[test]
fn who_is_told_of_is_dialed_once() {
    let (mesh, info) = (mesh(Some(3), &[]), peer(3));
    let target = Target::told("nats-route://127.0.0.1:1/").unwrap();
    assert!(mesh.welcomes("NPEER", None, &target));
    assert!(!mesh.welcomes("NPEER", None, &target));
    mesh.give_up("NPEER", None);
    assert!(mesh.welcomes("NPEER", None, &target));
    mesh.join(asked(1, &info, None)).unwrap();
    assert!(!mesh.welcomes("NPEER", None, &target));
    // An account that isn't pinned here needs no connection.
    assert!(!mesh.welcomes("NOTHER", Some("A"), &target));
}

fn parked(link: u32, is_configured: bool) -> Parked {
    Parked {
        link: LinkId(link),
        account: None,
        is_configured,
    }
}

#[test]
fn parked_routes_are_woken_when_a_place_is_free() {
    let (mesh, info) = (mesh(Some(1), &[]), peer(1));
    assert!(!mesh.park("NPEER", parked(9, true)));
    mesh.join(asked(1, &info, Some(0))).unwrap();
    assert!(mesh.park("NPEER", parked(9, true)));
    let left = mesh.leave("NPEER", &Place::Pool(0), LinkId(1));
    assert_eq!((left.is_last, left.parked), (true, vec![LinkId(9)]));
    assert!(!mesh.has("NPEER"));
}

/// A pool that stands is no reason to wait for the connection of one account.
#[test]
fn a_place_for_an_account_is_free_whatever_the_pool_holds() {
    let (mesh, info) = (mesh(Some(1), &["A"]), peer(1));
    let pinned = Asked {
        account: Some("A"),
        ..asked(2, &info, Some(0))
    };
    mesh.join(asked(1, &info, Some(0))).unwrap();
    assert!(!mesh.has_place("NPEER", None) && mesh.has_place("NPEER", Some("A")));
    let place = mesh.join(pinned).unwrap().place;
    assert!(!mesh.has_place("NPEER", Some("A")));
    mesh.leave("NPEER", &place, LinkId(2));
    assert!(!mesh.has_place("NPEER", None) && mesh.has_place("NPEER", Some("A")));
}

/// What the lost one was told of others is lost with it: they are told again, and dial.
#[test]
fn a_connection_that_follows_a_lost_one_is_news() {
    let (mesh, info) = (mesh(Some(3), &[]), peer(3));
    for (link, is_news) in [(1, true), (2, false)] {
        assert_eq!(
            mesh.join(asked(link, &info, None)).unwrap().is_news,
            is_news
        );
    }
    mesh.leave("NPEER", &Place::Pool(0), LinkId(1));
    for (link, is_news) in [(3, true), (4, false)] {
        assert_eq!(
            mesh.join(asked(link, &info, None)).unwrap().is_news,
            is_news
        );
    }
}

#[test]
fn a_server_that_was_told_of_and_lost_is_dialed_by_one_route() {
    let (mesh, info) = (mesh(Some(1), &[]), peer(1));
    let target = Target::told("nats-route://127.0.0.1:1/").unwrap();
    assert!(mesh.welcomes("NPEER", None, &target));
    let place = mesh.join(asked(1, &info, None)).unwrap().place;
    mesh.leave("NPEER", &place, LinkId(1));
    mesh.expect("NPEER", None);
    assert!(!mesh.welcomes("NPEER", None, &target));
    mesh.give_up("NPEER", None);
    assert!(mesh.welcomes("NPEER", None, &target));
}

/// However often a server is told of, one route waits for each of its places.
#[test]
fn routes_to_what_was_told_do_not_pile_up() {
    let (mesh, info) = (mesh(Some(1), &[]), peer(1));
    mesh.join(asked(1, &info, Some(0))).unwrap();
    let parks = |link, is_configured| mesh.park("NPEER", parked(link, is_configured));
    assert!(parks(7, false) && parks(7, false) && !parks(8, false));
    assert!(parks(9, true));
    let left = mesh.leave("NPEER", &Place::Pool(0), LinkId(1));
    assert_eq!(left.parked, [LinkId(7), LinkId(9)]);
}

/// Nobody comes back to the place of an accepted connection; the first dialed one fills it.
#[test]
fn one_dialed_connection_at_a_time_fills_the_pool() {
    let (mesh, info) = (mesh(Some(3), &[]), peer(3));
    mesh.join(asked(1, &info, Some(0))).unwrap();
    for link in [2, 3] {
        mesh.join(asked(link, &info, None)).unwrap();
    }
    let growers = || (1..=3).filter(|link| mesh.has_to_grow("NPEER", LinkId(*link)));
    assert_eq!(growers().count(), 0);
    let left = mesh.leave("NPEER", &Place::Pool(0), LinkId(1));
    assert_eq!((left.grower, left.is_last), (Some(LinkId(2)), false));
    assert_eq!(growers().collect::<Vec<_>>(), [2]);
    assert!(mesh.opens("NPEER", LinkId(4)) && mesh.opens("NPEER", LinkId(4)));
    assert!(!mesh.opens("NPEER", LinkId(5)));
    assert_eq!(growers().count(), 0);
    mesh.is_opened("NPEER", LinkId(4));
    assert_eq!(growers().collect::<Vec<_>>(), [2]);
}

/// spec: nats-server v2.15.1 server/reload.go `reloadClusterPoolAndAccounts`
#[test]
fn an_account_that_comes_to_a_plan_leaves_the_pool_and_is_dialed_for_alone() {
    let plan = |pinned: &[&str]| {
        let mut plan = Plan::configured(&Config::default(), None, 6222);
        plan.pool_size = Some(2);
        plan.pinned = pinned.iter().map(ToString::to_string).collect();
        plan.targets = vec![Target::told("nats-route://127.0.0.1:1/").unwrap()];
        plan
    };
    let mesh = Mesh::new(plan(&["A"]), "made up".to_owned());
    assert_eq!(mesh.configured().len(), 2);
    let pool = [Place::Pool(0), Place::Pool(1)];
    let (gone, come) = mesh.change(plan(&["A", "B", "C"]));
    assert_eq!((gone.len(), come.len()), (0, 2));
    for place in &pool {
        assert!(mesh.has_moved_from(place, "B") && !mesh.carries(place, "B"));
        assert!(!mesh.has_moved_from(place, "D"));
    }
    let (gone, come) = mesh.change(plan(&["A"]));
    assert_eq!((gone.len(), come.len()), (0, 0));
    assert!(mesh.pins("A") && !mesh.pins("B"));
    assert!(pool.iter().any(|place| mesh.carries(place, "B")));
}

/// spec: nats-server v2.15.1 server/reload.go `clusterOption.Apply`, server/route.go
/// `isClusterNameDynamic`
#[test]
fn a_reload_renames_the_cluster_and_keeps_its_servers() {
    let (mesh, info) = (mesh(Some(3), &[]), peer(3));
    mesh.join(asked(1, &info, None)).unwrap();
    let reload = |name: Option<&str>| {
        let plan = Plan {
            name: name.map(str::to_owned),
            ..mesh.plan()
        };
        let (gone, dial) = mesh.change(plan);
        assert!(gone.is_empty() && dial.is_empty() && mesh.has("NPEER"));
        mesh.cluster()
    };
    assert_eq!(reload(None), ("made up".to_owned(), true));
    assert_eq!(reload(Some("C9")), ("C9".to_owned(), false));
    assert_eq!(reload(None), ("C9".to_owned(), true));
    // Another server's name was taken: that is not given up for nothing.
    mesh.rename(ClusterName {
        name: "theirs".to_owned(),
        is_dynamic: false,
    });
    assert_eq!(reload(None), ("theirs".to_owned(), false));
}
