//! A stream's description as the disk keeps it, and the stream rebuilt from what the disk has.

use bytes::Bytes;
use frond_clock::Timestamp;
use frond_ledger::{Body, COMPRESSIBLE, Part, RecoveredStream, Seq, StreamId};
use frond_wire::go_json;
use serde::Serialize;

use super::Stream;
use super::config::{Compression, StreamConfig};
use super::contents::{Arrival, Contents};
use super::decode::stream_config;
use super::inflight::Inflight;
use super::mark::Mark;
use super::young::Young;
use crate::api::json::{Json, parse};
use crate::io::Tenant;

/// The layout written today.
const VERSION: u8 = 1;

/// What is written of a stream beside its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamMeta {
    /// The name of its account.
    pub(crate) account: String,
    /// When it was created.
    pub(crate) created: Timestamp,
    /// Its configuration.
    pub(crate) config: StreamConfig,
    /// It was being restored from a backup: what is there is not all of it.
    pub(crate) is_partial: bool,
}

/// A version byte, then JSON: `{"account":…,"created":…,"config":{…}}`, with `"partial":true`
/// while it is being restored.
#[derive(Serialize)]
struct Written<'a> {
    account: &'a str,
    created: String,
    config: &'a StreamConfig,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
}

/// Writes a description.
pub(crate) fn encode(account: &str, created: Timestamp, config: &StreamConfig) -> Bytes {
    write(account, created, config, false)
}

/// Writes the description of a stream that is being restored from a backup.
pub(crate) fn encode_partial(account: &str, created: Timestamp, config: &StreamConfig) -> Bytes {
    write(account, created, config, true)
}

fn write(account: &str, created: Timestamp, config: &StreamConfig, partial: bool) -> Bytes {
    let written = Written {
        account,
        created: created.to_string(),
        config,
        partial,
    };
    let compressible = match config.compression {
        Compression::None => 0,
        Compression::S2 => COMPRESSIBLE,
    };
    let mut bytes = vec![VERSION | compressible];
    bytes.extend(go_json::to_vec(&written));
    bytes.into()
}

/// Reads a description.
///
/// # Errors
/// What is wrong with it, for an operator.
pub(crate) fn decode(meta: &[u8]) -> Result<StreamMeta, String> {
    let (version, text) = meta.split_first().ok_or("empty description")?;
    let version = version & !COMPRESSIBLE;
    if version != VERSION {
        return Err(format!(
            "written in layout {version}, this server reads {VERSION}"
        ));
    }
    let Json::Object(members) = parse(text)? else {
        return Err("description is no object".to_owned());
    };
    let find = |name: &str| {
        members
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    };
    let string = |name: &str| match find(name) {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_))
        | None => Err(format!("description without {name}")),
    };
    let created = string("created")?;
    let config = find("config").ok_or("description without config")?;
    let config = stream_config(&config.to_text(), true)
        .map_err(|error| error.description.into_owned())?
        .config;
    Ok(StreamMeta {
        account: string("account")?,
        created: Timestamp::parse_rfc3339(&created).ok_or("created at no time")?,
        config,
        is_partial: matches!(find("partial"), Some(Json::Bool(true))),
    })
}

impl Stream {
    /// The stream as the disk has it, with sequences up to `last` used; limits are not enforced
    /// yet.
    pub(crate) fn recovered(
        id: StreamId,
        tenant: Tenant,
        meta: StreamMeta,
        found: RecoveredStream,
        last: Seq,
    ) -> Self {
        // Where a file stream began is kept beside it; an update may tell another beginning since.
        let mut stream = Self::new(id, tenant, meta.config, meta.created);
        if !stream.is_memory() {
            stream.contents = Contents::starting_after(stream.config.storage, 0);
            stream.inflight = Inflight::starting_after(0);
        }
        let newest = found.heads.parts().rev();
        let newest = newest
            .filter_map(|part| Some(part.heads.last()?.time))
            .next();
        let mut young = Young::default();
        for part in found.heads.into_parts() {
            stream.take_part(&part, newest.unwrap_or_default(), &mut young);
        }
        stream.contents.taken_over(young);
        stream.contents.skip(last);
        stream.contents.start_at(found.first);
        stream.inflight.raise(stream.contents.last());
        stream.lost = found.lost.into_iter().collect();
        stream
    }

    /// Takes messages over. `newest` is when the last one of all came.
    fn take_part(&mut self, part: &Part, newest: Timestamp, young: &mut Young) {
        let numbers = (0..part.subjects.len()).map(|_| None);
        let mut numbers: Vec<Option<u32>> = numbers.collect();
        for head in &part.heads {
            let Some(subject) = part.subjects.get(head.subject) else {
                continue;
            };
            match &head.dedupe_id {
                Some(id) if self.dedupe.is_over(head.time, newest) => {
                    self.dedupe.note(id, head.seq);
                }
                Some(id) => {
                    self.dedupe.insert(id, head.seq, head.time);
                }
                None => {}
            }
            let known = numbers.get(head.subject as usize).copied().flatten();
            let number = known.unwrap_or_else(|| self.contents.number(subject));
            if let Some(place) = numbers.get_mut(head.subject as usize) {
                *place = Some(number);
            }
            self.inflight.raise_time(head.time);
            self.timed
                .insert(head.seq, head.time, Mark::decode(head.mark));
            let arrival = Arrival {
                seq: head.seq,
                time: head.time,
                subject,
                header_len: head.header_len,
                payload_len: head.payload_len,
            };
            self.contents.take_over(number, &arrival, young);
        }
    }

    /// Takes a message of a backup, as it was; its sequence is above all before.
    pub(crate) fn take_back(&mut self, seq: Seq, time: Timestamp, body: &Body) {
        if let Some(id) = body.dedupe_id() {
            self.dedupe.insert(id, seq, time);
        }
        self.inflight.raise_time(time);
        self.timed.insert(seq, time, Mark::decode(body.mark()));
        self.contents.insert(Arrival {
            seq,
            time,
            subject: body.subject(),
            header_len: body.header_len(),
            payload_len: u32::try_from(body.payload().len()).unwrap_or(u32::MAX),
        });
        self.inflight.raise(self.contents.last());
        if self.is_memory() {
            self.bodies.insert(seq, body.clone());
        }
        self.note_schedule(seq, time, body);
    }

    /// Sequences up to `last` were used, and nothing below `first` may exist.
    pub(crate) fn take_back_extent(&mut self, first: Seq, last: Seq) {
        self.contents.start_at(first);
        self.contents.skip(last);
        self.inflight.raise(self.contents.last());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::validate::normalise;

    const GOLDEN: &str = "\u{1}{\"account\":\"$G\",\"created\":\"2026-11-29T19:45:13.5Z\",\"config\":{\"name\":\"S\",\"subjects\":[\"s.\\u003e\"],\"retention\":\"limits\",\"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,\"max_msgs_per_subject\":-1,\"max_msg_size\":-1,\"discard\":\"old\",\"storage\":\"file\",\"num_replicas\":1,\"duplicate_window\":120000000000,\"compression\":\"none\",\"allow_direct\":false,\"mirror_direct\":false,\"sealed\":false,\"deny_delete\":false,\"deny_purge\":false,\"allow_rollup_hdrs\":false,\"consumer_limits\":{},\"allow_msg_ttl\":false,\"metadata\":{\"_nats.req.level\":\"0\"}}}";

    #[test]
    fn descriptions_written_before_are_read_and_written_the_same() {
        let mut config = StreamConfig {
            name: "S".into(),
            subjects: vec!["s.>".into()],
            ..StreamConfig::default()
        };
        normalise(&mut config, false).unwrap();
        let created = Timestamp::parse_rfc3339("2026-11-29T19:45:13.5Z").unwrap();
        let bytes = encode("$G", created, &config);
        assert_eq!(core::str::from_utf8(&bytes).unwrap(), GOLDEN);
        let meta = decode(GOLDEN.as_bytes()).unwrap();
        assert_eq!(
            meta,
            StreamMeta {
                account: "$G".into(),
                created,
                config: config.clone(),
                is_partial: false,
            }
        );
        config.compression = Compression::S2;
        let packed = encode("$G", created, &config);
        assert!(frond_ledger::is_compressible(&packed) && !frond_ledger::is_compressible(&bytes));
        assert_eq!(decode(&packed).unwrap().config, config);
        let partial = encode_partial("$G", created, &config);
        assert!(decode(&partial).unwrap().is_partial);
    }

    #[test]
    fn a_later_layout_is_named() {
        assert!(decode(b"\x02{}").unwrap_err().contains("layout 2"));
        assert!(decode(b"").is_err() && decode(b"\x01{").is_err() && decode(b"\x01[]").is_err());
    }
}
