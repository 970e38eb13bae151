//! The button, digital inputs, and the lines of serial devices.

use std::time::Duration;

use frond_board::{Button, Debounce, Edge, LampInput, Pattern, Press};
use frond_clock::{Instant, Now, Timestamp};
use frond_config::{SerialDevice, SerialKind};

use super::{Contact, Device, Field, button_times, millis, ms};
use crate::event::event;
use crate::io::{Change, Level, Wish};
use crate::limits::TEXT_BYTES_MAX;
use crate::source::Channel;

impl Contact {
    pub(super) const fn new() -> Self {
        Self {
            debounce: None,
            raw: false,
            fault: String::new(),
            told: None,
            seq: 0,
        }
    }

    /// `None`: nobody knows.
    fn level(&self) -> Option<bool> {
        let level = self.debounce.as_ref().map(Debounce::level);
        level.filter(|_| self.fault.is_empty())
    }
}

impl Device {
    pub(super) fn new(options: &SerialDevice) -> Self {
        let unit = options.unit.as_deref().unwrap_or_default();
        Self {
            channel: Channel::of_conditioning(&options.subject, unit, &options.conditioning),
            fault: None,
        }
    }
}

impl Field {
    pub(super) fn button(&mut self, now: Now, changes: &[Change]) {
        let Some(options) = &self.options.button else {
            return;
        };
        let times = button_times(options);
        for Change { active, at } in changes {
            let button = self
                .button
                .get_or_insert_with(|| Button::new(*active, times));
            button.contact(ms(then(now, *at)), *active);
            self.pressed(now);
        }
    }

    pub(super) fn button_time(&mut self, now: Now) {
        if let Some(button) = &mut self.button {
            button.time(ms(now));
            self.pressed(now);
        }
    }

    fn pressed(&mut self, now: Now) {
        let Some(press) = self.button.as_mut().and_then(Button::poll) else {
            return;
        };
        match press {
            Press::Short => {
                self.lamp.handle(ms(now), LampInput::Repeat);
                let state = self.lamp.pattern().name();
                self.tell(now, "button", &[("press", "short"), ("state", state)]);
            }
            Press::Holding => self.hold(now, Some(Pattern::Holding), "holding"),
            Press::Cancelled => self.hold(now, None, "let go"),
            Press::Held => {
                self.hold(now, None, "held");
                self.log(
                    Level::Warn,
                    "the button was held: the rescue configuration".to_owned(),
                );
                self.wishes.push_back(Wish::Rescue);
            }
        }
    }

    fn hold(&mut self, now: Now, shown: Option<Pattern>, press: &str) {
        self.held = shown;
        self.tell(now, "button", &[("press", press)]);
        self.show(now);
    }

    pub(super) fn contact(&mut self, now: Now, nth: usize, changes: Result<&[Change], &str>) {
        match changes {
            Ok(changes) => {
                for change in changes {
                    self.contact_changed(now, nth, *change);
                }
            }
            Err(why) => self.contact_unknown(now, nth, why),
        }
    }

    fn contact_changed(&mut self, now: Now, nth: usize, change: Change) {
        let (Some(contact), Some(options)) =
            (self.contacts.get_mut(nth), self.options.inputs.get(nth))
        else {
            return;
        };
        let Change { active, at } = change;
        contact.raw = active;
        let is_known = contact.fault.is_empty();
        contact.fault.clear();
        match contact.debounce.as_mut().filter(|_| is_known) {
            Some(debounce) => {
                debounce.handle(ms(then(now, at)), active);
                self.tell_edges(now, nth);
            }
            None => {
                contact.debounce = Some(Debounce::new(active, millis(options.debounce)));
                self.tell_contact(then(now, at), now, nth, Some(active));
            }
        }
    }

    fn contact_unknown(&mut self, now: Now, nth: usize, why: &str) {
        let (Some(contact), Some(options)) =
            (self.contacts.get_mut(nth), self.options.inputs.get(nth))
        else {
            return;
        };
        if contact.fault != why {
            why.clone_into(&mut contact.fault);
            let text = format!("input {}: {why}", options.name);
            self.log(Level::Warn, text);
            self.tell_contact(now, now, nth, None);
        }
    }

    pub(super) fn contacts_time(&mut self, now: Now) {
        for nth in 0..self.contacts.len() {
            let Some(contact) = self.contacts.get_mut(nth) else {
                return;
            };
            let raw = contact.raw;
            if let Some(debounce) = &mut contact.debounce {
                debounce.handle(ms(now), raw);
                self.tell_edges(now, nth);
                self.beat(now, nth);
            }
        }
    }

    /// Every change that has settled, be it long over.
    fn tell_edges(&mut self, now: Now, nth: usize) {
        let edge = |it: &mut Self| it.contacts.get_mut(nth)?.debounce.as_mut()?.poll();
        while let Some(Edge { level, at_ms }) = edge(self) {
            let at = Instant::START + Duration::from_millis(at_ms);
            self.tell_contact(then(now, at), now, nth, Some(level));
        }
    }

    /// What did not change is told now and then.
    fn beat(&mut self, now: Now, nth: usize) {
        let (Some(contact), Some(options)) =
            (self.contacts.get_mut(nth), self.options.inputs.get(nth))
        else {
            return;
        };
        let beat = options.conditioning.heartbeat.zip(contact.told);
        if beat.is_some_and(|(beat, told)| now.mono >= told + beat) {
            let level = contact.level();
            self.tell_contact(now, now, nth, level);
        }
    }

    pub(super) fn contacts_deadline(&self) -> Option<Instant> {
        let at = |ms: u64| Instant::START + Duration::from_millis(ms);
        let contacts = self.contacts.iter().zip(&self.options.inputs);
        let all = contacts.flat_map(|(contact, options)| {
            let settle = contact
                .debounce
                .as_ref()
                .and_then(Debounce::deadline)
                .map(at);
            let beat = options.conditioning.heartbeat.zip(contact.told);
            settle
                .into_iter()
                .chain(beat.map(|(beat, told)| told + beat))
        });
        all.min()
    }

    /// How every input is, for a broker that may not have heard of its last change.
    pub(super) fn tell_contacts(&mut self, now: Now) {
        for nth in 0..self.contacts.len() {
            let Some(contact) = self.contacts.get(nth) else {
                return;
            };
            let level = contact.level();
            if level.is_some() || !contact.fault.is_empty() {
                self.tell_contact(now, now, nth, level);
            }
        }
    }

    /// How an input was `then`; `None`: nobody knows.
    fn tell_contact(&mut self, then: Now, now: Now, nth: usize, level: Option<bool>) {
        let Some(contact) = self.contacts.get_mut(nth) else {
            return;
        };
        contact.told = Some(now.mono);
        // It is told of all of them when somebody hears it.
        if !self.client.is_open {
            return;
        }
        contact.seq += 1;
        let (seq, fault) = (contact.seq, contact.fault.clone());
        let stamp = self.stamp(then, seq);
        let Some(options) = self.options.inputs.get(nth) else {
            return;
        };
        let state = match level {
            Some(true) => "active",
            Some(false) => "inactive",
            None => "unknown",
        };
        let mut texts = vec![("name", options.name.as_str()), ("state", state)];
        if fault.is_empty() {
            texts.push(("quality", "good"));
        } else {
            texts.extend([("quality", "bad"), ("reason", fault.as_str())]);
        }
        let json = event(&texts, stamp);
        self.client.publish(&options.subject, "", &json);
        if let Some(bucket) = &options.conditioning.latest {
            let key = format!("$KV.{bucket}.{}", options.subject);
            self.client.publish(&key, "", &json);
        }
    }

    pub(super) fn line(&mut self, now: Now, nth: usize, text: &[u8]) {
        let Some(options) = self.options.serial.get(nth) else {
            return;
        };
        let text = String::from_utf8_lossy(text.get(..TEXT_BYTES_MAX).unwrap_or(text));
        match options.kind {
            SerialKind::Scanner => {
                let (subject, name) = (options.subject.clone(), options.name.clone());
                let Some(device) = self.devices.get_mut(nth) else {
                    return;
                };
                device.channel.seq += 1;
                let seq = device.channel.seq;
                let stamp = self.stamp(now, seq);
                let json = event(&[("text", &text), ("name", &name)], stamp);
                self.client.publish(&subject, "", &json);
            }
            SerialKind::Scale => {
                let weight = weight(&text);
                if let (Some(unit), None, Some(device)) = (
                    weight.and_then(|(_, unit)| unit),
                    &options.unit,
                    self.devices.get_mut(nth),
                ) {
                    unit.clone_into(&mut device.channel.unit);
                }
                match weight {
                    Some((number, _)) => self.weighed(now, nth, number),
                    None => {
                        let text = format!("{}: no weight is in {text:?}", options.name);
                        self.log(Level::Warn, text);
                    }
                }
            }
        }
    }

    pub(super) fn port(&mut self, nth: usize, fault: Option<&str>) {
        let (Some(device), Some(options)) =
            (self.devices.get_mut(nth), self.options.serial.get(nth))
        else {
            return;
        };
        if device.fault.as_deref() == fault {
            return;
        }
        device.fault = fault.map(str::to_owned);
        let (level, text) = match fault {
            Some(why) => (Level::Warn, format!("{}: {why}", options.name)),
            None => (Level::Info, format!("{}: connected", options.name)),
        };
        self.log(level, text);
    }
}

/// Both clocks at a moment that is over.
fn then(now: Now, at: Instant) -> Now {
    let ago = i64::try_from(now.mono.since(at).as_nanos()).unwrap_or(0);
    Now {
        mono: at.min(now.mono),
        wall: Timestamp::from_nanos(now.wall.as_nanos().saturating_sub(ago)),
    }
}

/// The first number of a line, and the word after it: `ST,GS,+  12.340 kg` is 12.34 kg.
fn weight(line: &str) -> Option<(f64, Option<&str>)> {
    let start = line.find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = line.split_at_checked(start)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
    let number: f64 = digits.trim_end_matches('.').parse().ok()?;
    let is_negative = before.trim_end().ends_with('-');
    let unit = after.split_ascii_whitespace().next();
    let unit = unit.filter(|unit| unit.chars().all(|c| c.is_ascii_alphabetic() || c == '%'));
    Some((if is_negative { -number } else { number }, unit))
}

#[cfg(test)]
mod tests {
    use super::weight;

    #[test]
    fn a_weight_is_found_in_what_scales_send() {
        let cases = [
            ("ST,GS,+  12.340 kg", Some((12.34, Some("kg")))),
            ("  0.5g", Some((0.5, Some("g")))),
            ("- 3 lb", Some((-3.0, Some("lb")))),
            ("US,NT,-   1.20", Some((-1.2, None))),
            ("----", None),
            ("", None),
        ];
        for (line, want) in cases {
            assert_eq!(weight(line), want, "{line}");
        }
    }
}
