//! Messages that cannot be read.

use super::world::{TENANT, World};
use crate::Facts;

#[test]
fn what_was_lost_is_told_as_long_as_it_would_be_there() {
    let facts = Facts {
        body_cache_bytes: 0,
        ..Facts::default()
    };
    let mut world = World::with(facts);
    world.create("S", r#""subjects":["s.*"],"max_msgs":4"#);
    for _ in 0..4 {
        world.ask("s.a", "x");
    }
    let known = |world: &World| {
        let hosts = world.streams.hosts.values();
        hosts.map(|host| host.stream.lost.len()).sum::<usize>()
    };
    for seq in [3, 1, 2] {
        world.disk.lose(seq);
        let body = format!("{{\"seq\":{seq}}}");
        world.ask("$JS.API.STREAM.MSG.GET.S", &body);
        world.ask("$JS.API.STREAM.MSG.GET.S", &body);
    }
    assert_eq!(known(&world), 3);
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    assert!(
        info.contains(r#""lost":{"msgs":[1,2,3],"bytes":0}"#),
        "{info}"
    );
    world.ask("$JS.API.STREAM.MSG.DELETE.S", r#"{"seq":2}"#);
    assert_eq!(known(&world), 2);
    world.ask("s.a", "x");
    world.ask("s.a", "x");
    let left = world.streams.view().streams(TENANT).map(|it| it.lost);
    assert_eq!((known(&world), left.sum::<usize>()), (1, 1));
    world.ask("$JS.API.STREAM.PURGE.S", "");
    assert_eq!(known(&world), 0);
}

#[test]
fn what_the_disk_finds_unreadable_by_itself_is_told_before_anybody_reads_it() {
    let mut world = World::with(Facts::default());
    world.create("S", r#""subjects":["s.*"]"#);
    for _ in 0..3 {
        world.ask("s.a", "x");
    }
    world.ask("$JS.API.STREAM.MSG.DELETE.S", r#"{"seq":3}"#);
    let stream = world.streams.hosts.keys().next().copied().unwrap();
    let seqs = vec![2, 3, 9];
    world.input(crate::Input::Unreadable { stream, seqs });
    let info = world.ask("$JS.API.STREAM.INFO.S", "");
    let lost = r#""lost":{"msgs":[2],"bytes":0}"#;
    assert!(info.contains(lost), "{info}");
}
