//! A line between two servers that can be cut, and can keep back what comes from one end.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::spawn;

/// Relays from one port of loopback to another.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    line: Arc<Line>,
}

#[derive(Debug, Default)]
struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_held: bool,
    joined: u64,
    open: BTreeMap<u64, [TcpStream; 2]>,
}

impl Proxy {
    /// Listens on a free port, dials `to` for each connection.
    ///
    /// # Panics
    /// When loopback has no port left.
    #[must_use]
    pub fn new(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("bound").port();
        let line = Arc::new(Line::default());
        let relay = Arc::clone(&line);
        spawn(move || {
            for near in listener.incoming().flatten() {
                if let Ok(far) = TcpStream::connect(("127.0.0.1", to)) {
                    relay.join(&near, &far);
                }
            }
        });
        Self { port, line }
    }

    /// Where to dial.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends every connection there is, and says how many those were.
    ///
    /// # Panics
    /// When a relay panicked.
    pub fn cut(&self) -> usize {
        let mut state = self.line.state.lock().expect("no panic");
        let open = std::mem::take(&mut state.open);
        for stream in open.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        open.len()
    }

    /// Keeps back, or lets go, what comes from those who dialled.
    ///
    /// # Panics
    /// When a relay panicked.
    pub fn hold(&self, is_held: bool) {
        self.line.state.lock().expect("no panic").is_held = is_held;
        self.line.changed.notify_all();
    }
}

impl Line {
    fn join(self: &Arc<Self>, near: &TcpStream, far: &TcpStream) {
        let two = || Some((near.try_clone().ok()?, far.try_clone().ok()?));
        let (Some(out), Some(back), Some(kept)) = (two(), two(), two()) else {
            return;
        };
        let mut state = self.state.lock().expect("no panic");
        state.joined += 1;
        let nth = state.joined;
        state.open.insert(nth, [kept.0, kept.1]);
        drop(state);
        for (from, to, may_be_held) in [(out.0, out.1, true), (back.1, back.0, false)] {
            let line = Arc::clone(self);
            spawn(move || {
                line.relay(from, to, may_be_held);
                line.state.lock().expect("no panic").open.remove(&nth);
            });
        }
    }

    fn relay(&self, mut from: TcpStream, mut to: TcpStream, may_be_held: bool) {
        let mut piece = vec![0; 16 * 1024];
        while let Ok(count) = from.read(&mut piece) {
            if may_be_held {
                let state = self.state.lock().expect("no panic");
                let wait = self.changed.wait_while(state, |state| state.is_held);
                drop(wait.expect("no panic"));
            }
            let read = piece.get(..count).unwrap_or_default();
            if count == 0 || to.write_all(read).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
