use std::rc::Rc;

use frond_broker::Conn;
use frond_node::Input;

use crate::core::Core;

/// Checks a password on another thread: bcrypt takes a tenth of a second and more by design.
pub(crate) async fn check(core: Rc<Core>, conn: Conn, token: u64, hash: String, password: String) {
    let checked = tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash));
    let fits = checked.await.is_ok_and(|fits| fits.unwrap_or(false));
    core.handle(Input::Checked { conn, token, fits });
    core.resume(conn);
}
