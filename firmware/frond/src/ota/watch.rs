use std::time::Duration;

use frond_clock::Instant;
use frond_config::Ota;
use frond_runtime::steward::{Letter, Wish};
use serde_json::{Value, json};

use super::hub::{Hub, status, subject_of};

/// Follows the keys of a bucket that concern this box: what they hold comes first, then every
/// change. Works with any hub that has JetStream.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: Hub,
    bucket: String,
    subjects: Vec<String>,
    /// The one of them at which somebody claims this box.
    claim: String,
    /// What the hub answers comes there.
    answers: String,
    /// What the bucket holds comes there.
    deliveries: String,
    /// Tells one attempt from the next.
    attempt: u64,
    state: State,
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
}

/// Numbers of subscriptions from there on are its own.
const SUBSCRIPTIONS: u64 = 1000;
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
    pub(crate) fn new(ota: &Ota, inbox: &str) -> Option<Self> {
        let bucket = ota.source.bucket.clone()?;
        let claim = format!("claim.{}", ota.device);
        let keys = [
            format!("device.{}", ota.device),
            "all".to_owned(),
            claim.clone(),
        ];
        let groups = ota.groups.iter().map(|group| format!("group.{group}"));
        let keys = keys.into_iter().chain(groups);
        Some(Self {
            hub: Hub::new(&ota.source),
            subjects: keys.map(|key| subject_of(&bucket, &key)).collect(),
            claim: subject_of(&bucket, &claim),
            bucket,
            answers: format!("{inbox}.a.w"),
            deliveries: format!("{inbox}.d"),
            attempt: 0,
            state: State::Off,
        })
    }

    /// Asks for the keys anew.
    ///
    /// A stock server takes interest in the whole subject for interest, not one with a wildcard.
    pub(crate) fn begin(&mut self, now: Instant) -> [Wish; 3] {
        let before = Wish::Unsubscribe(SUBSCRIPTIONS + self.attempt);
        self.attempt += 1;
        let deliver = format!("{}.{}", self.deliveries, self.attempt);
        let subscribe = Wish::Subscribe(SUBSCRIPTIONS + self.attempt, deliver.clone());
        self.state = State::Asking(now + ANSWER_TIME);
        let stream = format!("KV_{}", self.bucket);
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

    /// Whether it follows the bucket.
    pub(crate) const fn follows(&self) -> bool {
        matches!(self.state, State::Following(_))
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

    /// Takes a message that may be its own.
    ///
    /// # Errors
    /// Why the hub does not let it follow.
    pub(crate) fn take(&mut self, now: Instant, letter: &Letter) -> Result<Option<Told>, String> {
        let own = |inbox: &str| format!("{inbox}.{}", self.attempt);
        if letter.subject == own(&self.answers) {
            return self.answered(now, letter).map(|()| None);
        }
        // Deliveries keep the subject they were published on.
        let is_key = self.subjects.contains(&letter.subject);
        if !is_key && letter.subject != own(&self.deliveries) {
            return Ok(None);
        }
        self.state = State::Following(now + SILENCE_MAX);
        let is_told = is_key && status(&letter.header).is_none() && !letter.payload.is_empty();
        let told = letter.payload.clone();
        Ok(is_told.then_some(if letter.subject == self.claim {
            Told::Claim(told)
        } else {
            Told::Bundle(told)
        }))
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
            return Err(format!("bucket {}: {why}", self.bucket));
        }
        self.state = State::Following(now + SILENCE_MAX);
        Ok(())
    }
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
        Watch::new(&config.ota.unwrap(), "_INBOX.x").unwrap()
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
        assert_eq!(watch.take(now, &yes), Ok(None));
        assert!(watch.follows());
        let bundle = letter("$KV.CONF.group.shops", b"", b"frondcfg");
        let told = Told::Bundle(b"frondcfg".to_vec());
        assert_eq!(watch.take(now, &bundle), Ok(Some(told)));
        let claim = letter("$KV.CONF.claim.till-7", b"", b"{}");
        let told = Told::Claim(b"{}".to_vec());
        assert_eq!(watch.take(now, &claim), Ok(Some(told)));
        let gone = letter(
            "$KV.CONF.all",
            b"NATS/1.0\r\nKV-Operation: DEL\r\n\r\n",
            b"",
        );
        assert_eq!(watch.take(now, &gone), Ok(None));
        let other = letter("$KV.CONF.device.till-8", b"", b"x");
        assert_eq!(watch.take(now, &other), Ok(None));
        let alive = letter("_INBOX.x.d.1", b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", b"");
        let later = now + Duration::from_secs(10);
        assert_eq!(watch.take(later, &alive), Ok(None));
        assert!(!watch.is_late(later + Duration::from_secs(12)));
        assert!(watch.is_late(later + SILENCE_MAX));
    }

    #[test]
    fn a_hub_that_is_not_there_is_asked_again() {
        let mut watch = watch();
        let now = Instant::START;
        let _ = watch.begin(now);
        let nobody = letter("_INBOX.x.a.w.1", b"NATS/1.0 503\r\n\r\n", b"");
        assert!(watch.take(now, &nobody).is_err());
        assert!(watch.is_late(now + AGAIN_AFTER));
        let _ = watch.begin(now);
        let no = letter(
            "_INBOX.x.a.w.2",
            b"",
            br#"{"error":{"description":"stream not found"}}"#,
        );
        let why = watch.take(now, &no).unwrap_err();
        assert!(why.contains("stream not found"), "{why}");
    }
}
