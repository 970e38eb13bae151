//! Readings that come before somebody hears them.

use frond_board::{Measure, Quantity};

use super::{Field, at, field, greet, hear, wishes};
use crate::io::Input;

/// With a deadband nothing would come after a first reading that nobody heard.
#[test]
fn the_latest_reading_waits_for_who_hears_it() {
    let mut field = field(
        "sensors: [ { driver: mcp9808, subject: t, interval: 1h, deadband: 1, latest: cold } ]",
        None,
    );
    let read = |field: &mut Field, ms, value| {
        let measure = Measure::good(Quantity::Temperature, value);
        let sampled = Ok(core::iter::once(measure).collect());
        field.handle(at(ms), Input::Sampled { origin: 0, sampled });
        wishes(field).1
    };
    assert_eq!(read(&mut field, 1, 4.0), "");
    assert_eq!(read(&mut field, 2, 4.5), "");
    let asked = greet(&mut field);
    assert!(
        asked.contains("KV_cold") && !asked.contains("PUB t "),
        "{asked}"
    );
    let made = |field: &mut Field| hear(field, 3, "_INBOX.frond.field.stream.0", 1, "", "{}").1;
    let told = made(&mut field);
    assert!(
        told.contains("PUB t ") && told.contains("PUB $KV.cold.t "),
        "{told}"
    );
    assert!(told.contains("4.5") && told.contains("\"seq\":1"), "{told}");
    assert!(told.contains("\"left_out\":1"), "{told}");
    // A broker that went hears the latest when it is back, and one that makes no bucket too.
    field.handle(at(4), Input::Disconnected);
    assert_eq!(read(&mut field, 5, 9.0), "");
    greet(&mut field);
    field.handle(at(5_001), Input::Time);
    let told = wishes(&mut field).1;
    assert!(
        told.contains("PUB t ") && told.contains("\"seq\":2"),
        "{told}"
    );
    assert_eq!(read(&mut field, 5_002, 9.5), "");
}
