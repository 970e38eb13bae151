//! What one server sends for a queue group, when nobody of it is here any more.

use super::links::add;
use super::plain_link::Plain;
use super::world::World;
use crate::LinkKind;

/// Two connections to one server may each carry one direction: what came by the one does not go back by
/// the other, again and again until both have heard that nobody is left.
#[test]
fn what_a_server_sends_for_a_group_does_not_go_back_to_it() {
    let mut world = World::open_to_all();
    let route = |cluster| Plain {
        other_kind: Some(LinkKind::Route),
        cluster,
        ..Plain::default()
    };
    let [one, twin, two] = ["one", "one", "two"].map(|name| add(&mut world, route(name)));
    for peer in [twin, two] {
        world.read(peer);
    }
    world.say(twin, "RS+ $G w q 1\r\n");
    world.say(one, "RMSG $G w | q 0\r\n\r\n");
    assert_eq!(world.read(twin), "");
    world.say(two, "RS+ $G w q 1\r\n");
    for peer in [twin, two] {
        world.read(peer);
    }
    world.say(one, "RMSG $G w | q 0\r\n\r\n");
    assert_eq!(world.read(twin), "");
    assert_eq!(world.read(two), "LMSG w | q 0\r\n\r\n");
}
