use std::collections::BTreeMap;

use frond_broker::Conn;

/// A client of one of the servers: what it subscribed to and what it has not read yet.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) conn: Conn,
    pub(crate) subs: BTreeMap<u32, Subscription>,
    pub(crate) next_sid: u32,
    /// Whether it is told that it may not, now and then.
    pub(crate) is_limited: bool,
    /// What the server said of itself last.
    pub(crate) info: String,
    unread: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub(crate) filter: String,
    pub(crate) queue: Option<&'static str>,
}

/// A message as a client received it.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) subject: String,
    pub(crate) sid: u32,
    pub(crate) reply: Option<String>,
    pub(crate) header: String,
    pub(crate) payload: String,
}

impl Client {
    pub(crate) const fn new(conn: Conn) -> Self {
        Self {
            conn,
            subs: BTreeMap::new(),
            next_sid: 1,
            is_limited: false,
            info: String::new(),
            unread: Vec::new(),
        }
    }

    pub(crate) fn subscription_line(&self, sid: u32) -> String {
        let sub = &self.subs[&sid];
        let queue = sub
            .queue
            .map(|queue| format!("{queue} "))
            .unwrap_or_default();
        format!("SUB {} {queue}{sid}\r\n", sub.filter)
    }

    /// The whole messages among what was read so far; `-ERR` is an error of the test.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Vec<Received>, String> {
        self.unread.extend_from_slice(bytes);
        let mut received = Vec::new();
        let mut start = 0;
        while let Some(end) = self.unread[start..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.unread[start..start + end]).into_owned();
            let after = start + end + 1;
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["MSG", subject, sid, reply @ .., size] => {
                    let size: usize = size.parse().map_err(|_| line.clone())?;
                    let Some(payload) = self.unread.get(after..after + size + 2) else {
                        break;
                    };
                    received.push(Received {
                        subject: (*subject).to_owned(),
                        sid: sid.parse().map_err(|_| line.clone())?,
                        reply: reply.first().map(|reply| (*reply).to_owned()),
                        header: String::new(),
                        payload: String::from_utf8_lossy(&payload[..size]).into_owned(),
                    });
                    start = after + size + 2;
                }
                ["HMSG", subject, sid, reply @ .., head, size] => {
                    let number = |word: &str| word.parse::<usize>().map_err(|_| line.clone());
                    let (head, size) = (number(head)?, number(size)?);
                    let Some(whole) = self.unread.get(after..after + size + 2) else {
                        break;
                    };
                    received.push(Received {
                        subject: (*subject).to_owned(),
                        sid: sid.parse().map_err(|_| line.clone())?,
                        reply: reply.first().map(|reply| (*reply).to_owned()),
                        header: String::from_utf8_lossy(&whole[..head]).into_owned(),
                        payload: String::from_utf8_lossy(&whole[head..size]).into_owned(),
                    });
                    start = after + size + 2;
                }
                ["INFO", ..] => {
                    self.info = line;
                    start = after;
                }
                ["-ERR", "'Permissions", ..] if self.is_limited => start = after,
                ["-ERR", ..] => return Err(format!("a client got {line}")),
                _ => start = after,
            }
        }
        self.unread.drain(..start);
        Ok(received)
    }
}
