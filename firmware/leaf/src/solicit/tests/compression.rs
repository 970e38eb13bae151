use frond_broker::{Compression, Link as _};

use super::{ANSWER, CONNECT, INFO, dialed, remote};
use crate::testing::{at, feed, wake};

#[test]
fn a_hub_that_compresses_is_answered_in_frames() {
    let mut remote = remote();
    remote.compression = Compression::auto();
    let (mut link, mut up) = dialed(remote);
    up.asked();
    let info = INFO.replace(r#""compression":"off""#, r#""compression":"accept""#);
    feed(&mut link, &mut up, at(20), &format!("{info}\r\n"));
    let said = up.said();
    assert!(said.starts_with("INFO {") && said.contains("\"compression\":\"s2_auto\""));
    // What was said before is not in frames.
    assert_eq!(up.asked(), [format!("pack s2_fast after {}", said.len())]);
    feed(&mut link, &mut up, at(40), &format!("{info}\r\n"));
    let connect = CONNECT.replace(r#""off""#, r#""s2_fast""#);
    assert_eq!(up.said(), format!("{connect}\r\n"));
    feed(&mut link, &mut up, at(60), &format!("{ANSWER}\r\n"));
    assert_eq!(link.status().compression, "s2_fast");
    // The next connection begins anew.
    link.closed(at(70), "Read Error", &mut up);
    wake(&mut link, &mut up);
    link.opened(at(3000), &mut up);
    up.said();
    feed(&mut link, &mut up, at(3001), &format!("{INFO}\r\n"));
    assert_eq!(up.said(), format!("{CONNECT}\r\n"));
}
