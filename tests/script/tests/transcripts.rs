//! Every transcript, folder by folder.

use interop::Kind;

#[test]
fn core() {
    script::holds(Kind::Real, "core");
}

#[test]
fn limits() {
    script::holds(Kind::Real, "limits");
}

#[test]
fn auth() {
    script::holds(Kind::Real, "auth");
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
    script::holds(Kind::Real, "leaf");
}
