use super::{CONNECT, attached, permissions};
use crate::testing::{at, feed};

fn traced_to(dest: &str) -> String {
    let header = format!("NATS/1.0\r\nNats-Trace-Dest: {dest}\r\n\r\n");
    format!(
        "HMSG yes.pub {} {}\r\n{header}\r\n",
        header.len(),
        header.len()
    )
}

/// nats-server `44414a598`: who may not publish to a subject does not have traces sent there.
#[test]
fn a_leaf_has_nothing_traced_to_where_it_may_not_publish() {
    let (mut link, mut up) = attached(CONNECT, Some(permissions()), &[]);
    up.said();
    up.asked();
    feed(&mut link, &mut up, at(2), &traced_to("no.pub"));
    let err = "-ERR 'Permissions Violation for Publish to \"no.pub\"'\r\n";
    assert_eq!((up.said().as_str(), up.asked().len()), (err, 0));
    feed(&mut link, &mut up, at(3), &traced_to("yes.traces"));
    assert_eq!((up.said().as_str(), up.asked().len()), ("", 1));
}
