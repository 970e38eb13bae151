//! A message that is published at this box and stored, as any client's would be.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Where the image's own configuration has clients. A box that has them elsewhere, or asks them who
/// they are, was not found well here before its update either, and is not held to it.
const CLIENTS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 4222);
/// A flash card may take that long for a stream.
const PATIENCE: Duration = Duration::from_secs(2);
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
const STREAM: &str = "FROND_IMAGE_PROBE";
/// Followed by a word of its own each time: boxes of one account may hear each other.
const SUBJECT: &str = "$FROND.IMAGE.PROBE";
const WORD: &str = "/proc/sys/kernel/random/uuid";
const INBOX: &str = "_INBOX.frond-image";

/// Makes a stream, has a message acknowledged by it, and takes the stream away again.
///
/// # Errors
/// What did not work.
pub(crate) fn publish() -> Result<(), String> {
    let word = std::fs::read_to_string(WORD).map_err(|error| format!("{WORD}: {error}"))?;
    publish_at(CLIENTS, word.trim()).map_err(|error| error.to_string())
}

fn publish_at(address: SocketAddr, word: &str) -> io::Result<()> {
    let mut client = Client::open(address)?;
    let subject = format!("{SUBJECT}.{word}");
    let stream = json!({
        "name": STREAM,
        "subjects": [subject],
        "storage": "file",
        "max_msgs": 1,
        "num_replicas": 1,
    });
    client.ask(
        &format!("$JS.API.STREAM.CREATE.{STREAM}"),
        &stream.to_string(),
    )?;
    let ack = client.ask(&subject, "well?")?;
    client.ask(&format!("$JS.API.STREAM.DELETE.{STREAM}"), "")?;
    let is_ours = ack.get("stream").and_then(Value::as_str) == Some(STREAM);
    if is_ours && ack.get("seq").and_then(Value::as_u64).is_some() {
        Ok(())
    } else {
        Err(io::Error::other(format!("no ack: {ack}")))
    }
}

/// As much of a client as this takes.
struct Client {
    reader: BufReader<io::Take<TcpStream>>,
    writer: TcpStream,
}

impl Client {
    fn open(address: SocketAddr) -> io::Result<Self> {
        let writer = TcpStream::connect_timeout(&address, PATIENCE)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        let reader = BufReader::new(writer.try_clone()?.take(ANSWER_BYTES_MAX));
        let mut client = Self { reader, writer };
        let options = json!({
            "verbose": false, "pedantic": false, "headers": true, "no_responders": true,
            "name": "frond-image", "lang": "rust", "version": env!("CARGO_PKG_VERSION"),
        });
        write!(client.writer, "CONNECT {options}\r\nSUB {INBOX} 1\r\n")?;
        Ok(client)
    }

    /// Publishes, and waits for the answer.
    fn ask(&mut self, subject: &str, payload: &str) -> io::Result<Value> {
        let length = payload.len();
        write!(
            self.writer,
            "PUB {subject} {INBOX} {length}\r\n{payload}\r\n"
        )?;
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => return Err(io::Error::other("it hangs up")),
                ["PING"] => self.writer.write_all(b"PONG\r\n")?,
                ["-ERR", why @ ..] => return Err(io::Error::other(why.join(" "))),
                ["HMSG", ..] => return Err(io::Error::other(format!("nobody has {subject}"))),
                ["MSG", .., length] => return self.answer(length),
                _ => {}
            }
        }
    }

    fn answer(&mut self, length: &str) -> io::Result<Value> {
        let length: u64 = length.parse().map_err(io::Error::other)?;
        let mut payload = Vec::new();
        self.reader
            .by_ref()
            .take(length + 2)
            .read_to_end(&mut payload)?;
        let answer: Value = serde_json::from_slice(&payload)?;
        match answer.get("error") {
            None => Ok(answer),
            Some(error) => Err(io::Error::other(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that answers each request with the next of these.
    fn server(answers: Vec<&'static str>) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            stream.write_all(b"INFO {}\r\nPING\r\n").unwrap();
            let mut answers = answers.iter();
            while let Some(Ok(line)) = lines.next() {
                if line.starts_with("PUB ")
                    && let Some(answer) = answers.next()
                {
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        address
    }

    const MADE: &str = "MSG _INBOX.frond-image 1 2\r\n{}\r\n";

    #[test]
    fn an_ack_is_an_ack() {
        let ack = "MSG _INBOX.frond-image 1 38\r\n{\"stream\":\"FROND_IMAGE_PROBE\",\"seq\":7}\r\n";
        publish_at(server(vec![MADE, ack, MADE]), "one").unwrap();
    }

    #[test]
    fn everything_else_is_none() {
        let other = "MSG _INBOX.frond-image 1 26\r\n{\"stream\":\"SALES\",\"seq\":7}\r\n";
        let refused = "MSG _INBOX.frond-image 1 27\r\n{\"error\":{\"err_code\":10023}}\r\n";
        let nobody = "HMSG _INBOX.frond-image 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n";
        for (answers, why) in [
            (vec![MADE, MADE, MADE], "no ack: {}"),
            (vec![MADE, other, MADE], "no ack: {\"seq\":7"),
            (vec![refused], "10023"),
            (vec![nobody], "nobody has $JS.API.STREAM.CREATE"),
            (
                vec!["-ERR 'Authorization Violation'\r\n"],
                "Authorization Violation",
            ),
        ] {
            let error = publish_at(server(answers), "one").unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
