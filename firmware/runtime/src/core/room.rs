//! Who has to go when there is no room: of memory, of files, of time for goodbyes.

use std::rc::Rc;

use frond_broker::Conn;
use frond_node::Listener;

use super::Core;
use crate::limits::{PARTING_MAX, SHED_AT_ONCE};

impl Core {
    /// So many bytes are held for a connection outside the node.
    pub(crate) fn hold(self: &Rc<Self>, conn: Conn, bytes: usize) {
        let now = self.clock.now();
        if self.with_node(|node| node.hold(now, conn, bytes)) {
            self.settle();
        }
    }

    /// Lets peers go that are on their way in and hold too much.
    pub(crate) fn relieve_lobbies(&self) {
        let max = self.with_node(|node| node.lobby_bytes_max());
        let door = self.door();
        let doors = door.as_ref().map(|door| door.lobby());
        for lobby in doors.into_iter().chain([&self.shaking]) {
            // Each has half of it.
            lobby.relieve(max / 2);
        }
    }

    /// A connection is closed and its peer may still take the last words; of too many such the
    /// first is cut.
    pub(crate) fn part(&self, conn: Conn) {
        let mut parting = self.parting.borrow_mut();
        parting.insert(conn);
        if parting.len() > PARTING_MAX
            && let Some(socket) = parting.pop_first().and_then(|first| self.socket(first))
        {
            socket.cut();
        }
    }

    /// How many had to go, of those who come in as `kind` does and nobody knows.
    pub(crate) fn pushed_out(&self, kind: Listener) -> u64 {
        match kind {
            Listener::WebSocket => self.door().map_or(0, |door| door.lobby().pushed_out()),
            Listener::Client | Listener::Leaf | Listener::Route | Listener::Gateway => {
                self.shaking.pushed_out() + self.with_node(|node| node.strangers_shed())
            }
        }
    }

    /// The system has no room for another connection: those go that have no right to theirs.
    pub(crate) fn make_room(self: &Rc<Self>) {
        let parting = std::mem::take(&mut *self.parting.borrow_mut());
        for socket in parting.into_iter().filter_map(|conn| self.socket(conn)) {
            socket.cut();
        }
        self.shaking().shed(SHED_AT_ONCE);
        if let Some(door) = self.door() {
            door.lobby().shed(SHED_AT_ONCE);
        }
        let now = self.clock.now();
        self.with_node(|node| node.shed_strangers(now, SHED_AT_ONCE));
        self.settle();
    }
}
