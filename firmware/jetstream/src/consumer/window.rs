use frond_clock::Rng;

use super::limits;

/// Flow control of a push consumer: how much may be on the way before the client answers.
// spec: nats-server v2.14.0 server/consumer.go needFlowControl, processFlowControl
#[derive(Debug)]
pub(crate) struct Window {
    /// Bytes that may be on the way; doubles with each answer.
    bytes_max: u64,
    /// Bytes on the way.
    bytes: u64,
    /// The question that has no answer yet.
    asked: Option<Question>,
}

#[derive(Debug)]
struct Question {
    /// Where the answer comes.
    subject: Box<str>,
    /// The bytes it covers.
    bytes: u64,
}

impl Window {
    /// Nothing on the way.
    pub(crate) const fn new() -> Self {
        Self {
            bytes_max: limits::WINDOW_BYTES_START,
            bytes: 0,
            asked: None,
        }
    }

    /// Whether more may be sent.
    pub(crate) const fn is_open(&self) -> bool {
        self.bytes <= self.bytes_max
    }

    /// The subject of the missing answer.
    pub(crate) fn asked(&self) -> Option<&str> {
        self.asked.as_ref().map(|question| &*question.subject)
    }

    /// Counts a message. True: it is time to ask.
    pub(crate) fn sent(&mut self, bytes: u64) -> bool {
        self.bytes += bytes;
        match &mut self.asked {
            None => self.bytes > self.bytes_max / 2,
            Some(question) => {
                if self.bytes.saturating_sub(question.bytes) >= self.bytes_max {
                    question.bytes += bytes;
                }
                false
            }
        }
    }

    /// A new question; returns the subject its answer comes to.
    pub(crate) fn ask(&mut self, stream: &str, consumer: &str, rng: &mut Rng) -> Box<str> {
        let subject: Box<str> = format!("$JS.FC.{stream}.{consumer}.{}", rng.base62(4)).into();
        self.asked = Some(Question {
            subject: subject.clone(),
            bytes: self.bytes,
        });
        subject
    }

    /// An answer came on `subject`; false when it is not the one that is missing.
    pub(crate) fn answered(&mut self, subject: &str) -> bool {
        let Some(question) = self.asked.take_if(|question| &*question.subject == subject) else {
            return false;
        };
        self.bytes_max = (self.bytes_max * 2).min(limits::WINDOW_BYTES_MAX);
        self.bytes = self.bytes.saturating_sub(question.bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_at_half_and_stops_when_full() {
        let mut window = Window::new();
        let mut rng = Rng::seeded(1);
        let half = limits::WINDOW_BYTES_START / 2;
        assert!(!window.sent(half));
        assert!(window.sent(1));
        let subject = window.ask("S", "C", &mut rng);
        assert!(subject.starts_with("$JS.FC.S.C.") && window.is_open());
        assert!(!window.sent(half));
        assert!(!window.is_open());
        assert!(!window.answered("$JS.FC.S.C.zzzz!"));
        assert!(window.answered(&subject) && window.is_open());
        assert!(!window.answered(&subject), "an answer counts once");
        assert!(!window.sent(half / 2), "the window has doubled");
    }
}
