//! Whether streams feed themselves is found out however they are woven.

use super::world::World;

fn create(world: &mut World, name: &str, more: &str) -> String {
    let config = format!("{{\"name\":\"{name}\",{more}}}");
    world.ask(&format!("$JS.API.STREAM.CREATE.{name}"), &config)
}

#[test]
fn many_ways_to_one_origin_are_walked_once() {
    let mut world = World::new();
    world.create("A0", r#""subjects":["a"]"#);
    world.create("B0", r#""subjects":["b"]"#);
    for layer in 0..40 {
        for side in ["A", "B"] {
            let config = format!(r#""sources":[{{"name":"A{layer}"}},{{"name":"B{layer}"}}]"#);
            world.create(&format!("{side}{}", layer + 1), &config);
        }
    }
    let update = r#"{"name":"A0","subjects":["a"],"sources":[{"name":"B40"}]}"#;
    let answer = world.ask("$JS.API.STREAM.UPDATE.A0", update);
    assert!(answer.contains("detected cycle"), "{answer}");
}

#[test]
fn a_stream_may_not_feed_itself() {
    let mut world = World::new();
    let own = r#""subjects":["a"],"sources":[{"name":"A"}]"#;
    let answer = create(&mut world, "A", own);
    assert!(answer.contains("detected cycle"), "{answer}");
}
