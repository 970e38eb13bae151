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
fn stream() {
    script::holds(Kind::Real, "stream");
}

#[test]
fn publish() {
    script::holds(Kind::Real, "publish");
}

#[test]
fn consumer() {
    script::holds(Kind::Real, "consumer");
}

#[test]
fn leaf() {
    script::agree_as(Kind::Hub, "leaf");
}
