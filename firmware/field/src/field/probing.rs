//! What feeds the watchdog: a probe that went all the way.

use frond_board::{FeederInput, FeederWish};
use frond_clock::Now;

use super::{Field, ms};
use crate::io::Wish;
use crate::probe::{Next, Probe};
use crate::streams::PROBE_STREAM;

impl Field {
    pub(super) fn probe_time(&mut self, now: Now) {
        self.feed(now, FeederInput::Time);
    }

    pub(super) fn probes_lost(&mut self, now: Now) {
        self.feed(now, FeederInput::Lost);
    }

    pub(super) fn probe_acked(&mut self, now: Now, n: u64, is_unanswered: bool, payload: &[u8]) {
        let next = self.probe.acked(n, is_unanswered, payload);
        self.go_on(now, next);
    }

    pub(super) fn probe_read(&mut self, now: Now, n: u64, payload: &[u8]) {
        self.go_on(now, Probe::read(n, payload));
    }

    pub(super) fn probe_received(&mut self, now: Now, payload: &[u8]) {
        let next = self.probe.received(payload);
        self.go_on(now, next);
    }

    fn go_on(&mut self, now: Now, next: Next) {
        match next {
            Next::Read(n, seq) => {
                let subject = format!("$JS.API.STREAM.MSG.GET.{PROBE_STREAM}");
                let ask = format!("{{\"seq\":{seq}}}");
                let reply = format!("{}.read.{n}", self.client.inbox);
                self.client.publish(&subject, &reply, ask.as_bytes());
            }
            Next::Returned(n) => self.feed(now, FeederInput::Returned(n)),
            Next::Nothing => {}
            // Somebody deleted it, or its storage is gone: then it cannot be made again.
            Next::Missing => self.make_streams(),
        }
    }

    fn feed(&mut self, now: Now, input: FeederInput) {
        let Some(feeder) = &mut self.feeder else {
            return;
        };
        feeder.handle(ms(now), input);
        while let Some(wish) = self.feeder.as_mut().and_then(frond_board::Feeder::poll) {
            match wish {
                FeederWish::Feed => self.wishes.push_back(Wish::Feed),
                FeederWish::Probe(n) => {
                    let reply = format!("{}.probe.{n}", self.client.inbox);
                    let reply = if self.probe.is_stored() { &*reply } else { "" };
                    let payload = Probe::payload(n);
                    // One that cannot be said does not come back, as it should.
                    self.client.publish(&self.probe.subject, reply, &payload);
                }
            }
        }
    }
}
