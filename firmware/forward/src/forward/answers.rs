//! What is heard, by what it answers.

use super::Forward;
use super::drain::FRAME_BYTES;
use super::lanes::Stored;
use crate::ask;
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
            "m" if is_nobody => return self.mark_failed(),
            "m" => return self.mark_written(answer().err()),
            "u" if !is_nobody && answer().is_ok() => return self.mark_is_kept(number),
            "a" if is_nobody => return self.nobody(turn, number),
            "a" if turn != self.turn => return self.acked_late(turn, number, message.payload),
            _ => {}
        }
        if turn != self.turn {
            return;
        }
        match kind {
            // Its bytes were counted with the message.
            "a" => self.acked(number, message.payload),
            "s" if number == self.step_number => {
                // That nobody is there is this box's own word.
                if self.is_asking_hub() && !is_nobody {
                    self.spend_on(message, self.asked_bytes);
                }
                self.step_answered((!is_nobody).then(answer));
            }
            "p" if is_nobody => self.hub_is_away(),
            "p" => {
                self.spend_on(message, self.probe_bytes);
                self.patience.is_there(self.now.mono, number);
            }
            "g" if is_nobody => self.hub_is_away(),
            "g" => {
                self.spend_on(message, self.asked_bytes);
                self.scanned(number, answer());
            }
            "f" => self.read(number, message),
            "q" if answer().is_err_and(|fault| fault.is_no_message()) => self.aside.forget(number),
            "i" if !is_nobody => self.looked(answer()),
            _ => {}
        }
    }

    /// A question to the hub, and its answer.
    fn spend_on(&mut self, answer: &Message<'_>, asked: u64) {
        // The subject of the answer went there as well.
        let bytes = 2 * answer.subject.len() + answer.payload.len() + 2 * FRAME_BYTES;
        self.spend(asked + bytes as u64);
    }

    /// A message that was read, or the end of them.
    fn read(&mut self, number: u64, message: &Message<'_>) {
        let Some(fetch) = self.fetch.as_mut().filter(|it| it.number == number) else {
            return;
        };
        let value = |name: &str| words::value(message.header, name);
        // A message may begin like an end, and its publisher may have written anything: the server
        // adds a sequence to each message, and to nothing else.
        let Some(seq) = value("Nats-Sequence") else {
            return match words::status(message.header) {
                Some(204) => self.fetched(value("Nats-Num-Pending") == Some("0")),
                Some(404) => self.fetched(true),
                // Nobody is there: it is asked again when it is overdue.
                Some(_) | None => {}
            };
        };
        let seq: Option<u64> = seq.parse().ok();
        let (Some(seq), Some(subject)) = (seq, value("Nats-Subject")) else {
            return;
        };
        let is_asked = seq >= fetch.question.from
            && frond_subject::matches(self.classes.filter(fetch.place.class()), subject);
        if !is_asked {
            return;
        }
        fetch.got.push(Stored {
            seq,
            subject: subject.to_owned(),
            header: message.header.to_vec(),
            payload: message.payload.to_vec(),
            time: value("Nats-Time-Stamp").unwrap_or_default().to_owned(),
        });
    }
}
