use std::rc::Rc;

use frond_account::{Answer, Identity};
use frond_broker::Conn;
use frond_node::Input;

use crate::core::Core;

/// Checks a password on another thread: bcrypt takes a tenth of a second and more by design.
pub(crate) async fn check(
    core: Rc<Core>,
    conn: Conn,
    token: u64,
    (hash, password): (String, String),
    then: Identity,
) {
    let checked = tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash));
    let answer = match checked.await {
        Ok(Ok(true)) => Answer::Accept(then),
        Ok(Ok(false) | Err(_)) | Err(_) => Answer::Refuse(String::new()),
    };
    core.handle(Input::Answered {
        conn,
        token,
        answer,
    });
    core.resume(conn);
}
