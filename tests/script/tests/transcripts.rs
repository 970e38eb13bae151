//! Every transcript, folder by folder.

use interop::Kind;

#[test]
fn core() {
    script::agree("core");
}

#[test]
fn limits() {
    script::agree("limits");
}

#[test]
fn auth() {
    script::agree("auth");
}

#[test]
fn accounts() {
    script::agree("accounts");
}

#[test]
fn stream() {
    script::agree("stream");
}

#[test]
fn publish() {
    script::agree("publish");
}

#[test]
fn consumer() {
    script::agree("consumer");
}

#[test]
fn leaf() {
    script::agree_as(Kind::Hub, "leaf");
}
