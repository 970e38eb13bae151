//! What the system account hears, and how long services took.

use futures_util::StreamExt as _;

use crate::schemas::seen::{Seen, connect};

pub(crate) async fn services(seen: &mut Seen) {
    let mut asked = seen.client.subscribe("help").await.unwrap();
    seen.client.flush().await.unwrap();
    let helper = seen.client.clone();
    let helping = tokio::spawn(async move {
        let message = asked.next().await.unwrap();
        let reply = message.reply.unwrap();
        helper.publish(reply, "here".into()).await.unwrap();
        helper.flush().await.unwrap();
    });
    let other = connect(&seen.server, "b").await;
    other.request("help", "".into()).await.unwrap();
    helping.await.unwrap();
}
