//! What the broker says.

use std::collections::BTreeSet;

use frond_clock::Now;

use super::{Field, Opening};
use crate::io::{Level, Wish};
use crate::limits::STREAMS_WAIT;
use crate::peer::{self, Heard, Message};
use crate::streams::{self, Made};

/// The number of the subscription for answers, and of the first of each kind after it.
const SID_INBOX: u32 = 1;
const SID_PROBE: u32 = 2;
const SID_OUTPUTS: u32 = 1_000;
const SID_THINNINGS: u32 = 100_000;

impl Field {
    /// The streams that are needed: for the probe, and for every bucket that somebody names.
    pub(super) fn plan_streams(&mut self, has_streams: bool) {
        if !has_streams {
            return;
        }
        if self.feeder.is_some() {
            self.streams.push(streams::probe(&self.probe.subject));
        }
        let sources = self.sources.iter().flat_map(|source| &source.channels);
        let devices = self.devices.iter().map(|device| &device.channel);
        let channels = sources.chain(devices).filter_map(|it| it.latest.as_deref());
        let thinnings = self.thinnings.iter().filter_map(|it| it.latest());
        let inputs = self.options.inputs.iter();
        let inputs = inputs.filter_map(|it| it.conditioning.latest.as_deref());
        let buckets: BTreeSet<&str> = channels.chain(thinnings).chain(inputs).collect();
        let buckets = buckets.into_iter().map(streams::bucket);
        let buckets: Vec<_> = buckets.collect();
        self.streams.extend(buckets);
    }

    pub(super) fn hear(&mut self, now: Now, bytes: &[u8]) {
        let bytes = self.client.receive(bytes);
        let mut rest: &[u8] = self.client.skipped(&bytes);
        loop {
            match peer::next(rest) {
                Ok(Some((heard, length))) => {
                    self.heard(now, heard);
                    rest = rest.get(length..).unwrap_or_default();
                    rest = self.client.skipped(rest);
                }
                Ok(None) => return self.client.keep(rest),
                Err(why) => {
                    // Nobody knows any more where a word begins.
                    self.log(Level::Warn, format!("the broker sent {why}"));
                    self.wishes.push_back(Wish::HangUp);
                    return;
                }
            }
        }
    }

    fn heard(&mut self, now: Now, heard: Heard<'_>) {
        match heard {
            Heard::Info => {
                if self.client.greeted() {
                    self.introduce(now);
                }
            }
            Heard::Ping => self.client.pong(),
            Heard::Fine => {}
            Heard::Error(text) => self.log(Level::Warn, format!("the broker refused: {text}")),
            Heard::Message(message) => self.message(now, &message),
            Heard::TooLarge(rest) => {
                self.client.skip(rest);
                let text = "a message that is too large for the field side is left out";
                self.log(Level::Warn, text.to_owned());
            }
        }
    }

    fn introduce(&mut self, now: Now) {
        let client = &mut self.client;
        client.subscribe(&format!("{}.>", client.inbox), SID_INBOX);
        if self.feeder.is_some() {
            client.subscribe(&self.probe.subject, SID_PROBE);
        }
        for (sid, output) in (SID_OUTPUTS..).zip(&self.outputs) {
            client.subscribe(&output.subject, sid);
        }
        self.make_streams();
        self.opening = Some(Opening {
            missing: (0..self.streams.len()).collect(),
            until: now.mono + STREAMS_WAIT,
        });
        self.wishes.push_back(Wish::Log(
            Level::Info,
            "the field side is connected".to_owned(),
        ));
    }

    /// Everything is told once its buckets are there: what came before would be in none of them,
    /// and be left out from then on as told.
    pub(super) fn opening_time(&mut self, now: Now) {
        let is_over = |it: &mut Opening| it.missing.is_empty() || now.mono >= it.until;
        if self.opening.take_if(is_over).is_none() {
            return;
        }
        self.client.is_open = true;
        for (sid, thinning) in (SID_THINNINGS..).zip(&self.thinnings) {
            self.client.subscribe(&thinning.from, sid);
        }
        self.tell_contacts(now);
        self.tell_readings(now);
    }

    pub(super) fn make_streams(&mut self) {
        for (at, (stream, config)) in self.streams.iter().enumerate() {
            let subject = format!("$JS.API.STREAM.CREATE.{stream}");
            let reply = format!("{}.stream.{at}", self.client.inbox);
            self.client.publish(&subject, &reply, config);
        }
    }

    fn message(&mut self, now: Now, message: &Message<'_>) {
        let nth = |from: u32| usize::try_from(message.sid - from).unwrap_or(usize::MAX);
        match message.sid {
            SID_INBOX => self.answer(now, message),
            SID_PROBE => self.probe_received(now, message.payload),
            SID_OUTPUTS..SID_THINNINGS => self.command(now, nth(SID_OUTPUTS), message),
            SID_THINNINGS.. => self.thin(now, nth(SID_THINNINGS), message),
            _ => {}
        }
    }

    fn answer(&mut self, now: Now, message: &Message<'_>) {
        let about = message.subject.strip_prefix(self.client.inbox.as_str());
        let mut words = about.unwrap_or_default().trim_start_matches('.').split('.');
        let kind = words.next().unwrap_or_default();
        let Some(n) = words.next().and_then(|n| n.parse::<u64>().ok()) else {
            return;
        };
        match kind {
            "probe" => self.probe_acked(now, n, message.is_unanswered, message.payload),
            "read" => {
                let stored = stored(message.payload);
                self.probe_read(now, n, &stored);
            }
            "stream" => self.stream_made(n, message),
            _ => {}
        }
    }

    fn stream_made(&mut self, n: u64, message: &Message<'_>) {
        let made = if message.is_unanswered {
            // An account without JetStream: what can be probed is what there is.
            self.probe.no_streams();
            Err("the account has no JetStream".to_owned())
        } else {
            streams::is_there(message.payload)
        };
        let place = usize::try_from(n).unwrap_or(usize::MAX);
        if let Some(opening) = &mut self.opening {
            opening.missing.remove(&place);
        }
        let stream = self.streams.get(place);
        if let (Ok(Made::Before), Some((name, config))) = (&made, stream)
            && name == streams::PROBE_STREAM
        {
            // Of an earlier start, whose probes went elsewhere.
            let subject = format!("$JS.API.STREAM.UPDATE.{name}");
            let reply = format!("{}.stream.{n}", self.client.inbox);
            self.client.publish(&subject, &reply, config);
        }
        if let (Err(why), Some((name, _))) = (made, stream) {
            let text = format!("the stream {name} cannot be made: {why}");
            self.log(Level::Warn, text);
        }
    }
}

/// The payload of a stored message that was asked for; nothing when it is not there.
fn stored(answer: &[u8]) -> Vec<u8> {
    let json: Option<serde_json::Value> = serde_json::from_slice(answer).ok();
    let data = json
        .as_ref()
        .and_then(|json| json["message"]["data"].as_str());
    data.and_then(|data| data_encoding::BASE64.decode(data.as_bytes()).ok())
        .unwrap_or_default()
}
