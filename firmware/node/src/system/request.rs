use frond_broker::ServerFacts;
use frond_config::Config;
use frond_wire::Message;
use serde_json::{Map, Value};

/// What a request says, read once: its options, and which servers it is meant for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    options: Map<String, Value>,
}

impl Request {
    /// Reads the payload; `None` when it is no JSON object. An empty one says nothing.
    pub(crate) fn read(message: &Message<'_>) -> Option<Self> {
        if message.payload.is_empty() {
            return Some(Self::default());
        }
        match serde_json::from_slice(message.payload).ok()? {
            Value::Object(options) => Some(Self { options }),
            Value::Null => Some(Self::default()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        }
    }

    /// Whether it is meant for this server.
    ///
    /// spec: nats-server v2.15.1 server/events.go `filterRequest`
    pub(crate) fn concerns(&self, facts: &ServerFacts, config: &Config) -> bool {
        let exact = self.flag("exact_match");
        let fits = |name, own: &str| match self.text(name) {
            "" => true,
            wanted if exact => wanted == own,
            wanted => own.contains(wanted),
        };
        let tags = self.options.get("tags").and_then(Value::as_array);
        let mut tags = tags.into_iter().flatten().filter_map(Value::as_str);
        let domain = config.jetstream.domain.as_deref().unwrap_or_default();
        fits("server_name", &facts.name)
            && fits("host", &facts.host)
            && fits("cluster", &facts.cluster)
            && tags.all(|tag| {
                config
                    .server_tags
                    .iter()
                    .any(|own| own.eq_ignore_ascii_case(tag))
            })
            && (self.text("domain").is_empty() || self.text("domain") == domain)
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.options
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.options
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        self.options
            .get(name)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }

    /// A queue group, which Go writes as bytes in base64.
    pub(crate) fn queue(&self) -> Option<String> {
        let text = self.text("queue");
        let bytes = base64(text)?;
        String::from_utf8(bytes)
            .ok()
            .filter(|queue| !queue.is_empty())
    }
}

/// What standard base64 text stands for.
fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = ALPHABET.iter().position(|known| *known == byte)?;
        bits = (bits << 6) | u32::try_from(digit).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_read_from_base64() {
        for (text, queue) in [
            ("cXVldWU=", Some("queue")),
            ("cQ==", Some("q")),
            ("", None),
            ("?", None),
        ] {
            let options = serde_json::json!({ "queue": text });
            let options = options.as_object().unwrap().clone();
            let request = Request { options };
            assert_eq!(request.queue().as_deref(), queue, "{text}");
        }
    }
}
