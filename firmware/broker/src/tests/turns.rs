//! No connection keeps the others waiting.

use super::world::World;
use crate::Next;
use crate::limits::{DELIVERIES_PER_TURN, OPERATIONS_PER_TURN};

fn subscriptions(count: usize) -> String {
    (0..count)
        .map(|nth| format!("SUB a.{nth} {nth}\r\n"))
        .collect()
}

#[test]
fn others_have_their_turn_between_many_operations() {
    let mut world = World::open_to_all();
    let busy = world.quiet();
    let before = world.broker.subscription_count();
    let said = subscriptions(3 * OPERATIONS_PER_TURN);
    let mut rest = said.as_bytes();
    for turn in 1..=3 {
        let taken = world.broker.bytes(world.now, busy, rest);
        rest = &rest[taken.consumed..];
        let came = world.broker.subscription_count() - before;
        assert_eq!(came, turn * OPERATIONS_PER_TURN);
        let wanted = if turn < 3 { Next::Turn } else { Next::Read(1) };
        assert_eq!(taken.next, wanted);
    }
    assert_eq!(rest, b"");
}

#[test]
fn others_have_their_turn_between_many_deliveries() {
    let mut world = World::open_to_all();
    let (reader, writer) = (world.quiet(), world.quiet());
    let readers = 1000;
    let said: String = (0..readers).map(|nth| format!("SUB a {nth}\r\n")).collect();
    world.say(reader, &said);
    let said = "PUB a 0\r\n\r\n".repeat(100);
    let taken = world.broker.bytes(world.now, writer, said.as_bytes());
    assert_eq!(taken.next, Next::Turn);
    let sent = world.broker.totals().traffic.out_msgs;
    let past = sent - DELIVERIES_PER_TURN;
    assert!(past <= readers as u64, "{past} more than its share");
    world.drain();
    world.say(writer, &said[taken.consumed..]);
    assert_eq!(world.read(reader).matches("MSG a ").count(), 100 * readers);
}
