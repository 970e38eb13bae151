//! What other servers refuse.

use super::links::add;
use super::plain_link::Plain;
use super::world::World;
use crate::LinkKind;

/// A group whose picked server refuses is for others: in another cluster, or here.
#[test]
fn a_group_that_is_refused_goes_elsewhere() {
    let mut world = World::open_to_all();
    let refusing = |other_kind, cluster| Plain {
        other_kind,
        cluster,
        withheld: Some("jobs"),
        ..Plain::default()
    };
    let gateway = add(
        &mut world,
        Plain {
            other_kind: Some(LinkKind::Gateway),
            cluster: "g",
            ..Plain::default()
        },
    );
    let leaf = add(&mut world, refusing(None, "p"));
    world.say(gateway, "RS+ $G jobs w 1\r\n");
    world.say(leaf, "LS+ jobs w 1\r\n");
    let publisher = world.quiet();
    world.read(gateway);
    world.read(leaf);
    world.say(publisher, "PUB jobs 1\r\nx\r\n");
    assert_eq!(
        (world.read(gateway), world.read(leaf)),
        ("LMSG jobs | w 1\r\nx\r\n".into(), String::new())
    );
    // A member here comes first, also when a server of this cluster was picked and refuses.
    let route = add(&mut world, refusing(Some(LinkKind::Route), "r"));
    world.say(route, "RS+ $G jobs w 9\r\n");
    let member = world.quiet();
    world.say(member, "SUB jobs w 1\r\n");
    for peer in [gateway, leaf, route] {
        world.read(peer);
    }
    for _ in 0..20 {
        world.say(publisher, "PUB jobs 1\r\nx\r\n");
        assert_eq!(world.read(member), "MSG jobs 1 1\r\nx\r\n");
        assert_eq!(world.read(gateway), "");
    }
}
