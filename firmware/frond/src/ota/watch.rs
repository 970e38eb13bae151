use std::time::Duration;

use frond_clock::Instant;
use frond_config::Ota;
use frond_runtime::steward::{Letter, Wish};
use serde_json::{Value, json};

use super::hub::{Hub, status, subject_of};
use super::object;

/// Follows the keys of a bucket, or the objects of a store, that concern this box: what they hold
/// comes first, then every change. Works with any hub that has JetStream.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: Hub,
    stream: String,
    subjects: Vec<String>,
    kind: Kind,
    /// What the hub answers comes there.
    answers: String,
    /// What the bucket holds comes there.
    deliveries: String,
    /// Tells one attempt from the next.
    attempt: u64,
    /// Numbers of its subscriptions come after that.
    numbers: u64,
    state: State,
    /// Why it does not follow, when that was said.
    trouble: Option<String>,
}

#[derive(Debug)]
enum Kind {
    Bucket {
        /// The subject at which somebody claims this box.
        claim: String,
        /// And at which the hub confirms what is on trial.
        confirm: String,
    },
    Objects,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is nobody to ask.
    Off,
    /// Asked; asked again then.
    Asking(Instant),
    /// It follows; silence until then means that it does not any more.
    Following(Instant),
}

/// What the bucket holds for this box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A bundle, if it is one.
    Bundle(Vec<u8>),
    /// Somebody claims it.
    Claim(Vec<u8>),
    /// The hub confirms something.
    Confirmation(Vec<u8>),
    /// A store tells of an object.
    Object(Vec<u8>),
}

/// Numbers of subscriptions for a bucket, and for a store.
const NUMBERS: [u64; 2] = [1 << 32, 1 << 33];
/// The hub says that often that it is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// After so much silence it is asked anew.
const SILENCE_MAX: Duration = Duration::from_secs(13);
/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(4);
/// Between two attempts when nobody is there.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Watch {
    /// Of the bucket the block names, if it does; `inbox` is the prefix for what comes.
    pub(crate) fn of_bucket(ota: &Ota, inbox: &str) -> Option<Self> {
        let bucket = ota.source.bucket.as_deref()?;
        let subject = |key: &str| subject_of(bucket, key);
        let [claim, confirm] =
            ["claim", "confirm"].map(|it| subject(&format!("{it}.{}", ota.device)));
        let mut subjects: Vec<_> = names(ota).map(|it| subject(&it)).collect();
        subjects.extend([claim.clone(), confirm.clone()]);
        Some(Self {
            hub: Hub::new(&ota.source),
            stream: format!("KV_{bucket}"),
            subjects,
            kind: Kind::Bucket { claim, confirm },
            answers: format!("{inbox}.a.w"),
            deliveries: format!("{inbox}.d"),
            attempt: 0,
            numbers: NUMBERS[0],
            state: State::Off,
            trouble: None,
        })
    }

    /// The same for the object store.
    pub(crate) fn of_objects(ota: &Ota, inbox: &str) -> Option<Self> {
        let store = ota.source.objects.as_deref()?;
        Some(Self {
            hub: Hub::new(&ota.source),
            stream: format!("OBJ_{store}"),
            subjects: names(ota)
                .map(|it| object::subject_of(store, &it))
                .collect(),
            kind: Kind::Objects,
            answers: format!("{inbox}.a.v"),
            deliveries: format!("{inbox}.e"),
            attempt: 0,
            numbers: NUMBERS[1],
            state: State::Off,
            trouble: None,
        })
    }

    /// Asks for the keys anew.
    ///
    /// A stock server takes interest in the whole subject for interest, not one with a wildcard.
    pub(crate) fn begin(&mut self, now: Instant) -> [Wish; 3] {
        let before = Wish::Unsubscribe(self.numbers + self.attempt);
        self.attempt += 1;
        let deliver = format!("{}.{}", self.deliveries, self.attempt);
        let subscribe = Wish::Subscribe(self.numbers + self.attempt, deliver.clone());
        self.state = State::Asking(now + ANSWER_TIME);
        let stream = &self.stream;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let request = json!({
            "stream_name": stream,
            "config": {
                "deliver_subject": deliver,
                "deliver_policy": "last_per_subject",
                "ack_policy": "none",
                "replay_policy": "instant",
                "filter_subjects": self.subjects,
                "idle_heartbeat": nanos(SIGN_OF_LIFE),
                "inactive_threshold": nanos(SILENCE_MAX * 2),
                "mem_storage": true,
                "num_replicas": 1,
            },
        });
        let ask = Wish::Publish {
            subject: self.hub.api(&format!("CONSUMER.CREATE.{stream}")),
            reply: Some(format!("{}.{}", self.answers, self.attempt)),
            payload: request.to_string().into_bytes(),
        };
        [before, subscribe, ask]
    }

    /// Nobody can be asked until [`Watch::begin`].
    pub(crate) const fn end(&mut self) {
        self.state = State::Off;
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Off => None,
            State::Asking(at) | State::Following(at) => Some(at),
        }
    }

    /// Whether it has to begin anew.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| now >= at)
    }

    /// Takes a message that may be its own; what is to be said of it.
    pub(crate) fn take(&mut self, now: Instant, letter: &Letter) -> (Option<Told>, Option<String>) {
        let own = |inbox: &str| format!("{inbox}.{}", self.attempt);
        if letter.subject == own(&self.answers) {
            let news = match self.answered(now, letter) {
                Ok(()) => self.heals(),
                Err(why) => self.fails(why),
            };
            return (None, news);
        }
        // Deliveries keep the subject they were published on.
        let is_key = self.subjects.contains(&letter.subject);
        if !is_key && letter.subject != own(&self.deliveries) {
            return (None, None);
        }
        self.state = State::Following(now + SILENCE_MAX);
        let is_told = is_key && status(&letter.header).is_none() && !letter.payload.is_empty();
        let told = is_told.then(|| self.told(letter));
        (told, self.heals())
    }

    fn told(&self, letter: &Letter) -> Told {
        let said = letter.payload.clone();
        match &self.kind {
            Kind::Objects => Told::Object(said),
            Kind::Bucket { claim, .. } if *claim == letter.subject => Told::Claim(said),
            Kind::Bucket { confirm, .. } if *confirm == letter.subject => Told::Confirmation(said),
            Kind::Bucket { .. } => Told::Bundle(said),
        }
    }

    /// Said once, until it is another trouble.
    fn fails(&mut self, why: String) -> Option<String> {
        let is_new = self.trouble.as_ref() != Some(&why);
        let said = is_new.then(|| format!("the hub's {} cannot be followed: {why}", self.stream));
        self.trouble = Some(why);
        said
    }

    fn heals(&mut self) -> Option<String> {
        let trouble = self.trouble.take()?;
        let stream = &self.stream;
        Some(format!(
            "the hub's {stream} is followed again (it was: {trouble})"
        ))
    }

    fn answered(&mut self, now: Instant, letter: &Letter) -> Result<(), String> {
        if status(&letter.header) == Some(503) {
            self.state = State::Asking(now + AGAIN_AFTER);
            return Err("the hub is not there, or has no JetStream".to_owned());
        }
        let answer: Value = serde_json::from_slice(&letter.payload).unwrap_or_default();
        if let Some(error) = answer.get("error") {
            self.state = State::Asking(now + ANSWER_TIME);
            let why = error.get("description").and_then(Value::as_str);
            let why = why.unwrap_or("it says no");
            return Err(format!("{}: {why}", self.stream));
        }
        self.state = State::Following(now + SILENCE_MAX);
        Ok(())
    }
}

/// What a box is told at: its name, its groups', and everybody's.
fn names(ota: &Ota) -> impl Iterator<Item = String> {
    let own = [format!("device.{}", ota.device), "all".to_owned()];
    let groups = ota.groups.iter().map(|group| format!("group.{group}"));
    own.into_iter().chain(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frond_config::{Nothing, load_text};

    const KEY: &str = "OBRVK7ZS63QZDELBDVPX52RGQAC4LQZPNLYGIBAKKCZZB63A5LDM5XXQ";

    fn watch() -> Watch {
        let keys = format!("{{ keys: [{KEY}] }}");
        let text = format!(
            "ota {{ store: \"/x\", device: till-7, groups: [shops], trust {{ root {keys}, \
             release {keys} }}, source {{ bucket: CONF, domain: hub }} }}"
        );
        let config = load_text(&text, "x.conf", &Nothing).unwrap().config;
        Watch::of_bucket(&config.ota.unwrap(), "_INBOX.x").unwrap()
    }

    fn letter(subject: &str, header: &[u8], payload: &[u8]) -> Letter {
        Letter {
            subject: subject.to_owned(),
            reply: None,
            header: header.to_vec(),
            payload: payload.to_vec(),
        }
    }

    #[test]
    fn bundles_come_after_the_hub_agreed_and_silence_asks_again() {
        let mut watch = watch();
        let now = Instant::START;
        let [
            _,
            Wish::Subscribe(_, deliver),
            Wish::Publish { subject, .. },
        ] = watch.begin(now)
        else {
            panic!("it asks");
        };
        assert_eq!(deliver, "_INBOX.x.d.1");
        assert_eq!(subject, "$JS.hub.API.CONSUMER.CREATE.KV_CONF");
        let yes = letter("_INBOX.x.a.w.1", b"", b"{}");
        assert_eq!(watch.take(now, &yes), (None, None));
        for (key, told) in [
            ("group.shops", Told::Bundle(b"x".to_vec())),
            ("claim.till-7", Told::Claim(b"x".to_vec())),
            ("confirm.till-7", Told::Confirmation(b"x".to_vec())),
        ] {
            let said = letter(&format!("$KV.CONF.{key}"), b"", b"x");
            assert_eq!(watch.take(now, &said), (Some(told), None));
        }
        let gone = letter(
            "$KV.CONF.all",
            b"NATS/1.0\r\nKV-Operation: DEL\r\n\r\n",
            b"",
        );
        assert_eq!(watch.take(now, &gone), (None, None));
        let other = letter("$KV.CONF.device.till-8", b"", b"x");
        assert_eq!(watch.take(now, &other), (None, None));
        let alive = letter("_INBOX.x.d.1", b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", b"");
        let later = now + Duration::from_secs(10);
        assert_eq!(watch.take(later, &alive), (None, None));
        assert!(!watch.is_late(later + Duration::from_secs(12)));
        assert!(watch.is_late(later + SILENCE_MAX));
    }

    #[test]
    fn a_hub_that_is_not_there_is_asked_again_and_that_is_said_once() {
        let mut watch = watch();
        let now = Instant::START;
        let _ = watch.begin(now);
        let nobody = letter("_INBOX.x.a.w.1", b"NATS/1.0 503\r\n\r\n", b"");
        let (_, said) = watch.take(now, &nobody);
        assert!(said.unwrap().contains("is not there"));
        assert_eq!(watch.take(now, &nobody), (None, None));
        assert!(watch.is_late(now + AGAIN_AFTER));
        let _ = watch.begin(now);
        let no = letter(
            "_INBOX.x.a.w.2",
            b"",
            br#"{"error":{"description":"stream not found"}}"#,
        );
        let (_, why) = watch.take(now, &no);
        assert!(why.unwrap().contains("stream not found"));
        let _ = watch.begin(now);
        let (_, again) = watch.take(now, &letter("_INBOX.x.a.w.3", b"", b"{}"));
        assert!(again.unwrap().contains("followed again"));
    }
}
