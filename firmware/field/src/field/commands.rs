//! Commands to outputs, and their answers.

use frond_clock::Now;

use super::Field;
use crate::event::event;
use crate::io::{Level, Wish};
use crate::output::{Command, Heed};
use crate::peer::Message;

impl Field {
    pub(super) fn command(&mut self, now: Now, nth: usize, message: &Message<'_>) {
        let Some(output) = self.outputs.get_mut(nth) else {
            return;
        };
        let heed = match Command::parse(message.payload) {
            Ok(command) => output.command(now.mono, command, message.reply),
            Err(why) => return self.reply(now, nth, message.reply, Some(why)),
        };
        match heed {
            Heed::AnswerNow => self.reply(now, nth, message.reply, None),
            Heed::AnswerLater => {}
            Heed::Busy => self.reply(now, nth, message.reply, Some("too many commands at once")),
        }
    }

    pub(super) fn switched(&mut self, now: Now, nth: usize, fault: Option<&str>) {
        let Some(output) = self.outputs.get_mut(nth) else {
            return;
        };
        let outcome = output.switched(fault);
        let name = output.name.clone();
        let state = state(output.shown());
        if let Some(why) = outcome.changed {
            self.tell(
                now,
                "output",
                &[("name", &name), ("state", state), ("why", why)],
            );
        }
        if let Some(fault) = &outcome.fault {
            self.log(Level::Warn, format!("output {name}: {fault}"));
        }
        for asker in &outcome.askers {
            self.reply(now, nth, Some(asker), outcome.fault.as_deref());
        }
    }

    pub(super) fn outputs_time(&mut self, now: Now) {
        for (nth, output) in self.outputs.iter_mut().enumerate() {
            output.time(now.mono);
            if let Some(on) = output.switch() {
                self.wishes.push_back(Wish::Switch { output: nth, on });
            }
        }
    }

    fn reply(&mut self, now: Now, nth: usize, asker: Option<&str>, fault: Option<&str>) {
        let (Some(asker), Some(output)) = (asker, self.outputs.get(nth)) else {
            return;
        };
        let left = output.left(now.mono).map(|left| left.as_secs().to_string());
        let mut texts = vec![
            ("name", output.name.as_str()),
            ("state", state(output.shown())),
        ];
        if let Some(left) = &left {
            texts.push(("seconds_left", left));
        }
        if let Some(fault) = fault {
            texts.push(("error", fault));
        }
        let payload = event(&texts, self.stamp(now, self.event_seq));
        self.client.publish(asker, "", &payload);
    }
}

const fn state(shown: Option<bool>) -> &'static str {
    match shown {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    }
}
