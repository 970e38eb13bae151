//! A credentials file counts as it is when the hub is dialed.

use super::*;

#[test]
fn a_file_that_comes_later_is_used_by_the_next_dial() {
    let missing = "open x.creds: no such file or directory";
    let given = Remote {
        credentials: Some(Err(missing.to_owned())),
        ..remote()
    };
    let (mut link, mut up) = dialed(given);
    feed(&mut link, &mut up, at(1), &format!("{INFO}\r\n"));
    assert_eq!(up.said(), "");
    let error = link.status().last_error.unwrap_or_default();
    assert!(error.contains(missing), "{error}");

    link.closed(at(2), "Authentication Failure", &mut up);
    let seed = frond_account::nkey::KeyPair::from_random(frond_account::nkey::Role::User, &[3; 32]);
    let file = format!("---\neyJ0.abc\n---\n---\n{}\n---\n", seed.seed());
    link.credentials(Ok(&file));
    let now = wake(&mut link, &mut up);
    let mut up = Mock::new("leaf1");
    link.opened(now, &mut up);
    feed(&mut link, &mut up, now, &format!("{INFO}\r\n"));
    let said = up.said();
    assert!(said.contains("\"jwt\":\"eyJ0.abc\",\"sig\":"), "{said}");
}
