use std::time::{Duration, Instant};

use frond_fleet::limits::LEAF_LOOK_SECONDS;
use frond_fleet::{Input, Leaf};
use frond_runtime::Caller;

use super::Host;
use crate::fleet::now_s;

/// Asks all servers of the hub for their lines, in its system account.
#[derive(Debug)]
pub(super) struct Lines {
    caller: Caller,
    next: Instant,
}

/// spec: nats-server v2.15.1 server/events.go `serverPingReqSubj`
const SUBJECT: &str = "$SYS.REQ.SERVER.PING.LEAFZ";
/// How long what is there already takes to be read.
const READ_TIME: Duration = Duration::from_millis(1);

impl Lines {
    /// What came since, and what of it is lines.
    fn turn(&mut self) -> Result<Vec<Leaf>, String> {
        let now = Instant::now();
        if now >= self.next {
            let seconds = u64::try_from(LEAF_LOOK_SECONDS).unwrap_or(1);
            self.next = now + Duration::from_secs(seconds);
            let reply = format!("{}.lines", self.caller.inbox());
            self.caller.publish(SUBJECT, Some(&reply), b"", b"{}")?;
        }
        let mut lines = Vec::new();
        while let Some(letter) = self.caller.letter(Instant::now() + READ_TIME)? {
            lines.extend(Leaf::read(now_s(), &letter.payload));
        }
        Ok(lines)
    }
}

impl Host {
    /// From now on the lines of the hub are looked at too.
    pub(crate) fn look_at(&mut self, system: Caller) {
        self.lines = Some(Lines {
            caller: system,
            next: Instant::now(),
        });
    }

    pub(super) fn look_at_lines(&mut self) -> Result<(), String> {
        let Some(lines) = &mut self.lines else {
            return Ok(());
        };
        match lines.turn()?.as_slice() {
            [] => Ok(()),
            lines => self.take(Input::Lines(lines.to_vec())),
        }
    }
}
