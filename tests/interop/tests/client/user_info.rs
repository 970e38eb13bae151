//! Who a user is, asked over a link.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use futures_util::StreamExt as _;
use interop::{Kind, Server, Setup};

const BOUND: Duration = Duration::from_secs(20);

/// Field report C9: only the server of the user answers who the user is.
#[tokio::test]
async fn a_user_behind_a_leaf_is_told_once_who_it_is() {
    let port = interop::free_port();
    let hub = Server::start(
        Kind::Hub,
        &Setup::config(&format!(
            "listen: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:{port}\" }}\n"
        )),
    );
    let leaf = Server::start(
        Kind::Leaf,
        &Setup::config(&format!(
            "listen: \"127.0.0.1:-1\"\nleafnodes {{ remotes: [ {{ url: \"nats://127.0.0.1:{port}\" }} ] }}\n"
        )),
    );
    let answering = async_nats::connect(hub.url()).await.unwrap();
    let mut echo = answering.subscribe("echo").await.unwrap();
    answering.flush().await.unwrap();
    let asking = async_nats::connect(leaf.url()).await.unwrap();
    let inbox = asking.new_inbox();
    let mut answers = asking.subscribe(inbox.clone()).await.unwrap();
    // The echo's answer comes over the link behind everything the hub said before.
    tokio::spawn(async move {
        while let Some(message) = echo.next().await {
            let reply = message.reply.unwrap();
            answering.publish(reply, "echo".into()).await.unwrap();
        }
    });
    interop::wait_for_async("the link", BOUND, async || {
        asking.request("echo", "".into()).await.ok()
    })
    .await;
    let info = asking.publish_with_reply("$SYS.REQ.USER.INFO", inbox.clone(), "".into());
    info.await.unwrap();
    let echo = asking.publish_with_reply("echo", inbox, "".into());
    echo.await.unwrap();
    let mut told = Vec::new();
    for _ in 0..2 {
        let message = tokio::time::timeout(BOUND, answers.next()).await.unwrap();
        told.push(message.unwrap().payload);
    }
    assert!(told[0].starts_with(b"{\"server\""), "{told:?}");
    assert_eq!(&*told[1], b"echo");
}
