//! What changes for all streams while they run, and their end.

use frond_clock::Now;

use crate::facts::Facts;
use crate::io::Reach;
use crate::jetstream::JetStream;

impl JetStream {
    /// Other limits are in force. What is there already stays, whatever they say.
    pub fn set_facts(&mut self, facts: Facts) {
        self.facts = facts;
    }

    /// The node stops: whoever waits for messages is told, and progress goes to the disk.
    pub fn shut_down(&mut self, now: Now, reach: &dyn Reach) {
        self.now = now;
        self.end_consumers(reach);
        self.journal.flush(&mut self.out);
    }
}
