use std::io;

use super::Connection;
use crate::limits::{CLOSE_WAIT, FAREWELL_BUFFER_BYTES, FAREWELL_READ_BYTES_MAX};

impl Connection {
    /// Says goodbye, unless there is no time for it.
    pub(super) async fn part(&self) {
        self.core.part(self.conn);
        tokio::select! {
            () = self.say_goodbye() => {}
            () = self.socket.until_cut() => {}
        }
    }

    /// Writes the last bytes for a bounded time and shuts the socket.
    async fn say_goodbye(&self) {
        let stream = self.socket.line.stream();
        let write_all = async {
            loop {
                self.socket.blocked.set(false);
                if !self.write_rest()
                    || !self.socket.blocked.get()
                    || stream.writable().await.is_err()
                {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(CLOSE_WAIT, write_all).await;
        self.socket.line.say_goodbye();
        let _ = socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write);
        let _ = tokio::time::timeout(CLOSE_WAIT, read_to_end(stream)).await;
    }
}

/// Takes what the peer still sends: closing over unread bytes would reset the connection and
/// could take our last words from the peer.
async fn read_to_end(stream: &tokio::net::TcpStream) {
    let mut sink = vec![0; FAREWELL_BUFFER_BYTES];
    let mut left = FAREWELL_READ_BYTES_MAX;
    while left > 0 && stream.readable().await.is_ok() {
        match stream.try_read(&mut sink) {
            Ok(n @ 1..) => left = left.saturating_sub(n),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => break,
        }
    }
}
