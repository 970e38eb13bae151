//! What is heard, by what it answers.

use super::Forward;
use super::lanes::Stored;
use crate::ask::{self, Info};
use crate::io::Message;
use crate::words;

impl Forward {
    pub(super) fn answer(&mut self, message: &Message<'_>) {
        let about = message.subject.strip_prefix(self.setup.inbox.as_str());
        let mut words = about.unwrap_or_default().split('.').skip(1);
        let kind = words.next().unwrap_or_default();
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (Some(turn), Some(number)) = (number(), number()) else {
            return;
        };
        let is_nobody = words::status(message.header) == Some(503);
        let answer = || ask::answer(message.payload);
        // What was removed or written stays so, whatever happened since.
        match kind {
            "d" if !is_nobody => return self.removed(number, answer()),
            "x" => return self.evicted(number),
            "m" if is_nobody || answer().is_err() => return self.mark_failed(),
            _ => {}
        }
        if turn != self.turn {
            return;
        }
        match kind {
            // Its bytes were counted with the message.
            "a" => self.acked(number, (!is_nobody).then(answer)),
            "s" if number == self.step_number => {
                if self.is_asking_hub() {
                    self.spend(message.subject.len() + message.payload.len());
                }
                self.step_answered((!is_nobody).then(answer));
            }
            "g" if is_nobody => self.hub_is_away(),
            "g" => {
                self.spend(message.subject.len() + message.payload.len());
                self.scanned(number, answer());
            }
            "f" => self.read(number, message),
            "i" => {
                if let Ok(json) = answer() {
                    self.looked(Info::of(&json));
                }
            }
            _ => {}
        }
    }

    /// A message that was read, or the end of them.
    fn read(&mut self, number: u64, message: &Message<'_>) {
        let Some(fetch) = self.fetch.as_mut().filter(|it| it.number == number) else {
            return;
        };
        let left = words::value(message.header, "Nats-Num-Pending");
        match words::status(message.header) {
            // The end of a batch.
            Some(204) => return self.fetched(left == Some("0")),
            Some(404) => return self.fetched(true),
            // Nobody is there: it is asked again when it is overdue.
            Some(_) => return,
            None => {}
        }
        let value = |name: &str| words::value(message.header, name);
        let seq = value("Nats-Sequence").and_then(|it| it.parse().ok());
        let (Some(seq), Some(subject)) = (seq, value("Nats-Subject")) else {
            return;
        };
        fetch.got.push(Stored {
            seq,
            subject: subject.to_owned(),
            header: message.header.to_vec(),
            payload: message.payload.to_vec(),
            time: value("Nats-Time-Stamp").unwrap_or_default().to_owned(),
        });
    }
}
