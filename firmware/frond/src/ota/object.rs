//! An object of a hub's object store, asked for part by part.
//!
//! spec: ADR-20; ADR-31 for direct gets

use std::time::Duration;

use data_encoding::BASE64URL;
use frond_clock::Instant;
use frond_runtime::steward::{Letter, Wish};
use serde_json::{Value, json};

use super::hub::{Hub, header, status};

/// What a store says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    nuid: String,
    /// Its length.
    pub(crate) size: u64,
    chunks: u64,
    /// `SHA-256=` and the hash in base64.
    pub(crate) digest: String,
}

/// One that is on its way.
#[derive(Debug)]
pub(crate) struct Reading {
    hub: Hub,
    stream: String,
    chunk: String,
    inbox: String,
    number: u64,
    /// From which sequence on the next part is.
    from: u64,
    chunks_left: u64,
    bytes_left: u64,
    until: Instant,
    tries_left: u8,
}

/// What came of a message.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is about something else.
    None,
    /// The next part, and what is to be said for the one after it; nothing: it was the last.
    Part(Vec<u8>, Option<Wish>),
    /// It does not come.
    Failed(String),
}

/// How long a part may take.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How often one is asked for.
const TRIES: u8 = 6;

/// The subject at which a store tells of an object.
pub(crate) fn subject_of(store: &str, object: &str) -> String {
    format!("$O.{store}.M.{}", BASE64URL.encode(object.as_bytes()))
}

impl About {
    /// From the store's words; `None`: it was deleted, or is a link to another one.
    pub(crate) fn parse(said: &[u8]) -> Option<Self> {
        let said: Value = serde_json::from_slice(said).ok()?;
        let number = |key: &str| said.get(key).and_then(Value::as_u64);
        let word = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
        if said.get("deleted").and_then(Value::as_bool) == Some(true) {
            return None;
        }
        Some(Self {
            nuid: word("nuid").filter(|it| is_token(it))?,
            size: number("size")?,
            chunks: number("chunks")?,
            digest: word("digest")?,
        })
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.chars().all(|it| it.is_ascii_alphanumeric())
}

impl Reading {
    /// Of an object of that store; what is to be said first. Answers come below `inbox`.
    pub(crate) fn begin(
        now: Instant,
        hub: &Hub,
        (store, about): (&str, &About),
        inbox: String,
    ) -> (Self, Wish) {
        let mut reading = Self {
            hub: hub.clone(),
            stream: format!("OBJ_{store}"),
            chunk: format!("$O.{store}.C.{}", about.nuid),
            inbox,
            number: 0,
            from: 1,
            chunks_left: about.chunks,
            bytes_left: about.size,
            until: now,
            tries_left: TRIES,
        };
        let wish = reading.ask(now);
        (reading, wish)
    }

    fn ask(&mut self, now: Instant) -> Wish {
        self.number += 1;
        self.until = now + ANSWER_TIME;
        let wanted = json!({ "seq": self.from, "next_by_subj": self.chunk });
        Wish::Publish {
            subject: self.hub.api(&format!("DIRECT.GET.{}", self.stream)),
            reply: Some(format!("{}.{}", self.inbox, self.number)),
            payload: wanted.to_string().into_bytes(),
        }
    }

    /// When to ask again.
    pub(crate) const fn deadline(&self) -> Instant {
        self.until
    }

    /// A part did not come in time: it is asked for again, a few times.
    pub(crate) fn again(&mut self, now: Instant) -> Result<Wish, String> {
        self.tries_left = self.tries_left.saturating_sub(1);
        if self.tries_left == 0 {
            return Err("the hub does not send it".to_owned());
        }
        Ok(self.ask(now))
    }

    /// Takes a message that may be a part.
    pub(crate) fn take(&mut self, now: Instant, letter: &Letter) -> Step {
        if letter.subject != format!("{}.{}", self.inbox, self.number) {
            return Step::None;
        }
        match status(&letter.header) {
            None => {}
            Some(503) => return Step::Failed("the store gives nothing directly".to_owned()),
            Some(404) => return Step::Failed("a part of it is missing".to_owned()),
            Some(code) => return Step::Failed(format!("the hub says {code}")),
        }
        let sequence = header(&letter.header, "Nats-Sequence");
        let sequence = sequence.and_then(|it| it.parse::<u64>().ok());
        let Some(sequence) = sequence.filter(|it| *it >= self.from) else {
            return Step::Failed("a part without a sequence".to_owned());
        };
        let length = u64::try_from(letter.payload.len()).unwrap_or(u64::MAX);
        let left = (
            self.chunks_left.checked_sub(1),
            self.bytes_left.checked_sub(length),
        );
        let (Some(chunks), Some(bytes)) = left else {
            return Step::Failed("it is longer than its store says".to_owned());
        };
        (self.chunks_left, self.bytes_left) = (chunks, bytes);
        (self.from, self.tries_left) = (sequence + 1, TRIES);
        if chunks > 0 {
            return Step::Part(letter.payload.clone(), Some(self.ask(now)));
        }
        match bytes {
            0 => Step::Part(letter.payload.clone(), None),
            _ => Step::Failed("it is shorter than its store says".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use frond_config::OtaSource;

    use super::*;

    const ABOUT: &str = r#"{"name":"all","nuid":"Ab1","size":5,"chunks":2,"digest":"SHA-256=x"}"#;

    fn begun() -> (Reading, Wish) {
        let hub = Hub::new(&OtaSource {
            domain: Some("hub".to_owned()),
            ..OtaSource::default()
        });
        let about = About::parse(ABOUT.as_bytes()).unwrap();
        Reading::begin(Instant::START, &hub, ("S", &about), "_I.o".to_owned())
    }

    fn part(number: u64, sequence: u64, payload: &str) -> Letter {
        let header = format!("NATS/1.0\r\nNats-Stream: OBJ_S\r\nNats-Sequence: {sequence}\r\n\r\n");
        Letter {
            subject: format!("_I.o.{number}"),
            reply: None,
            header: header.into_bytes(),
            payload: payload.as_bytes().to_vec(),
        }
    }

    fn asked(wish: &Wish) -> (&str, String) {
        let Wish::Publish {
            subject, payload, ..
        } = wish
        else {
            panic!("it asks");
        };
        (subject, String::from_utf8(payload.clone()).unwrap())
    }

    #[test]
    fn parts_come_one_after_another() {
        let (mut reading, wish) = begun();
        let (subject, payload) = asked(&wish);
        assert_eq!(subject, "$JS.hub.API.DIRECT.GET.OBJ_S");
        assert_eq!(payload, r#"{"next_by_subj":"$O.S.C.Ab1","seq":1}"#);
        let now = Instant::START;
        assert!(matches!(reading.take(now, &part(7, 9, "abc")), Step::None));
        let Step::Part(first, Some(next)) = reading.take(now, &part(1, 9, "abc")) else {
            panic!("a part");
        };
        assert_eq!(first, b"abc");
        assert!(asked(&next).1.contains(r#""seq":10"#));
        let again = reading.again(reading.deadline()).unwrap();
        assert!(asked(&again).1.contains(r#""seq":10"#));
        let Step::Part(last, None) = reading.take(now, &part(3, 12, "de")) else {
            panic!("the last part");
        };
        assert_eq!(last, b"de");
    }

    #[test]
    fn what_is_not_as_it_was_told_fails() {
        let now = Instant::START;
        let fails = |letter: &Letter, words: &str| {
            let (mut reading, _) = begun();
            let Step::Failed(why) = reading.take(now, letter) else {
                panic!("{words}");
            };
            assert!(why.contains(words), "{why}");
        };
        fails(&part(1, 9, "abcdef"), "longer");
        let mut none = part(1, 9, "");
        none.header = b"NATS/1.0 404 Message Not Found\r\n\r\n".to_vec();
        fails(&none, "missing");
        none.header = b"NATS/1.0 503\r\n\r\n".to_vec();
        fails(&none, "directly");
        let (mut reading, _) = begun();
        let _ = reading.take(now, &part(1, 9, "abc"));
        let short = reading.take(now, &part(2, 10, "d"));
        assert!(matches!(short, Step::Failed(why) if why.contains("shorter")));
        let (mut reading, _) = begun();
        let tries = (0..TRIES).map(|_| reading.again(now)).filter(Result::is_ok);
        assert_eq!(tries.count(), usize::from(TRIES) - 1);
    }

    #[test]
    fn what_was_deleted_or_is_strange_is_none() {
        assert!(About::parse(ABOUT.as_bytes()).is_some());
        let deleted = ABOUT.replace("{\"name", "{\"deleted\":true,\"name");
        let strange = ABOUT.replace("Ab1", "a.>");
        for said in [&deleted, &strange, "{}", "junk"] {
            assert_eq!(About::parse(said.as_bytes()), None, "{said}");
        }
        assert_eq!(
            subject_of("S", "device.till-7"),
            "$O.S.M.ZGV2aWNlLnRpbGwtNw=="
        );
    }
}
