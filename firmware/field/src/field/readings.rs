//! Readings on their way to their subjects.

use frond_board::{Doubt, Quality, Sampled};
use frond_clock::{Instant, Now};
use frond_config::SerialKind;

use super::Field;
use crate::client::Client;
use crate::conditioner::{Conditioner, Said, Value};
use crate::io::{Level, Wish};
use crate::peer::Message;
use crate::reading::{Stamp, reading};
use crate::shown::Shown;
use crate::source::{Channel, Turn};
use crate::thinning::Thinned;

impl Field {
    pub(super) fn sampled(&mut self, now: Now, origin: usize, sampled: Sampled) {
        let Some(source) = self.sources.get_mut(origin) else {
            return;
        };
        source.answered(now.mono);
        match sampled {
            Ok(measures) => {
                for at in 0..self.channels(origin) {
                    let wanted = self.quantity(origin, at);
                    let found = measures.iter().find(|it| Some(it.quantity) == wanted);
                    if let Some(measure) = found {
                        self.measured(now, origin, at, (measure.value, measure.doubt));
                    }
                }
            }
            Err(why) => self.fell_silent(now, origin, why.as_str()),
        }
    }

    pub(super) fn polled(&mut self, now: Now, origin: usize, values: &[Result<f64, String>]) {
        let Some(source) = self.sources.get_mut(origin) else {
            return;
        };
        source.answered(now.mono);
        for (at, value) in values.iter().enumerate() {
            match value {
                Ok(value) => self.measured(now, origin, at, (*value, None)),
                Err(why) => self.unknown(now, origin, at, why),
            }
        }
    }

    pub(super) fn readings_time(&mut self, now: Now) {
        for origin in 0..self.sources.len() {
            let Some(source) = self.sources.get_mut(origin) else {
                return;
            };
            match source.time(now.mono) {
                Turn::Sample => self.wishes.push_back(Wish::Sample(origin)),
                Turn::Late => {
                    let why = format!(
                        "no answer within {:?}: the bus may be stuck",
                        source.timeout()
                    );
                    self.fell_silent(now, origin, &why);
                }
                Turn::Wait => {}
            }
        }
        self.say_all(now, Conditioner::time);
    }

    /// The latest readings that nobody has heard.
    pub(super) fn tell_readings(&mut self, now: Now) {
        self.say_all(now, Conditioner::again);
    }

    /// What is due of every channel.
    fn say_all(&mut self, now: Now, due: impl Fn(&mut Conditioner, Instant) -> Option<Said>) {
        let trusted = self.stamp(now, 0).is_trusted;
        let sources = self
            .sources
            .iter_mut()
            .flat_map(|source| &mut source.channels);
        let devices = self.devices.iter_mut().map(|device| &mut device.channel);
        for channel in sources.chain(devices) {
            if let Some(said) = due(&mut channel.conditioner, now.mono) {
                say(&mut self.client, channel, &said, now, trusted);
            }
        }
    }

    /// What every sensor, meter and scale last said.
    #[must_use]
    pub fn shown(&self) -> Vec<Shown> {
        let sources = self.sources.iter().flat_map(|source| {
            let has_many = source.channels.len() > 1;
            let channels = source.channels.iter();
            channels.map(move |channel| channel.shown(&source.name, has_many))
        });
        let devices = self.devices.iter().zip(&self.options.serial);
        let scales = devices.filter(|(_, options)| options.kind == SerialKind::Scale);
        let scales = scales.map(|(device, options)| device.channel.shown(&options.name, false));
        sources.chain(scales).collect()
    }

    fn channels(&self, origin: usize) -> usize {
        self.sources.get(origin).map_or(0, |it| it.channels.len())
    }

    fn quantity(&self, origin: usize, at: usize) -> Option<frond_board::Quantity> {
        self.sources.get(origin)?.channels.get(at)?.quantity
    }

    fn measured(
        &mut self,
        now: Now,
        origin: usize,
        at: usize,
        (measured, doubt): (f64, Option<Doubt>),
    ) {
        let trusted = self.stamp(now, 0).is_trusted;
        let Some(channel) = self
            .sources
            .get_mut(origin)
            .and_then(|it| it.channels.get_mut(at))
        else {
            return;
        };
        let value = channel.judge(measured, doubt);
        take(&mut self.client, channel, value, now, trusted);
    }

    fn unknown(&mut self, now: Now, origin: usize, at: usize, why: &str) {
        let trusted = self.stamp(now, 0).is_trusted;
        let Some(channel) = self
            .sources
            .get_mut(origin)
            .and_then(|it| it.channels.get_mut(at))
        else {
            return;
        };
        why.clone_into(&mut channel.reason);
        let value = Value {
            number: 0.0,
            quality: Quality::Bad,
        };
        take(&mut self.client, channel, value, now, trusted);
    }

    /// None of its values is known.
    fn fell_silent(&mut self, now: Now, origin: usize, why: &str) {
        let Some(source) = self.sources.get(origin) else {
            return;
        };
        let was = source
            .channels
            .first()
            .map(|channel| channel.reason.clone());
        if was.as_deref() != Some(why) {
            let text = format!("{}: {why}", source.name);
            self.log(Level::Warn, text);
        }
        for at in 0..self.channels(origin) {
            self.unknown(now, origin, at, why);
        }
    }

    pub(super) fn weighed(&mut self, now: Now, device: usize, number: f64) {
        let trusted = self.stamp(now, 0).is_trusted;
        if let Some(device) = self.devices.get_mut(device) {
            let value = device.channel.judge(number, None);
            take(&mut self.client, &mut device.channel, value, now, trusted);
        }
    }

    pub(super) fn thin(&mut self, now: Now, nth: usize, message: &Message<'_>) {
        let Some(thinning) = self.thinnings.get_mut(nth) else {
            return;
        };
        let thinned = thinning.take(now.mono, message.subject, message.payload);
        self.go_on_thinned(now, nth, thinned, message.payload);
    }

    pub(super) fn thinning_time(&mut self, now: Now) {
        for nth in 0..self.thinnings.len() {
            let due = self.thinnings.get_mut(nth).map(|it| it.time(now.mono));
            for thinned in due.unwrap_or_default() {
                self.go_on_thinned(now, nth, thinned, b"");
            }
        }
    }

    fn go_on_thinned(&mut self, now: Now, nth: usize, thinned: Thinned, payload: &[u8]) {
        match thinned {
            Thinned::Nothing => {}
            Thinned::AsItIs(to) => drop(self.client.publish(&to, "", payload)),
            Thinned::Say { to, said, seq } => {
                let json = reading(&said, "", "", self.stamp(now, seq));
                self.client.publish(&to, "", &json);
                let latest = self.thinnings.get(nth).and_then(|it| it.latest());
                if let Some(bucket) = latest {
                    self.client
                        .publish(&format!("$KV.{bucket}.{to}"), "", &json);
                }
            }
        }
    }
}

/// A reading of a channel: every one of them goes where they all go, and what is worth it on.
fn take(client: &mut Client, channel: &mut Channel, value: Value, now: Now, is_trusted: bool) {
    channel.last.take(now, value);
    if let Some(raw) = &channel.raw {
        channel.raw_seq += 1;
        let stamp = Stamp {
            seq: channel.raw_seq,
            time: now.wall,
            is_trusted,
        };
        let whole = Said {
            value,
            stats: None,
            left_out: 0,
        };
        let json = reading(&whole, &channel.unit, &channel.reason, stamp);
        client.publish(raw, "", &json);
    }
    if let Some(said) = channel.conditioner.take(now.mono, value) {
        say(client, channel, &said, now, is_trusted);
    }
}

fn say(client: &mut Client, channel: &mut Channel, said: &Said, now: Now, is_trusted: bool) {
    let stamp = Stamp {
        seq: channel.seq + 1,
        time: now.wall,
        is_trusted,
    };
    let reason = match said.value.quality {
        Quality::Good => "",
        Quality::Uncertain | Quality::Bad => &channel.reason,
    };
    let json = reading(said, &channel.unit, reason, stamp);
    if !client.is_open || !client.publish(&channel.subject, "", &json) {
        return channel.conditioner.unsent(said);
    }
    channel.seq += 1;
    if let Some(bucket) = &channel.latest {
        let key = format!("$KV.{bucket}.{}", channel.subject);
        client.publish(&key, "", &json);
    }
}
