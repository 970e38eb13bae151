//! The head of an answer to a GET.

/// What was answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Body(Body),
    Elsewhere(String),
    Unchanged,
}

/// What comes after the head.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Body {
    /// As announced.
    pub(super) length: Option<u64>,
    pub(super) tag: Option<String>,
}

const HEAD_BYTES_MAX: usize = 16 << 10;
/// A tag is said again with each question.
const TAG_BYTES_MAX: usize = 256;

/// Reads up to the end of the head; what came of the body already.
///
/// # Errors
/// When it is none, or says no.
pub(super) fn head(
    more: &mut dyn FnMut(&mut [u8]) -> Result<usize, String>,
) -> Result<(Answer, Vec<u8>), String> {
    let mut bytes = Vec::new();
    loop {
        if let Some((answer, length)) = parse(&bytes)? {
            return Ok((answer, bytes.split_off(length)));
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err("the head of the answer does not end".to_owned());
        }
        let mut chunk = [0; 4096];
        let read = more(&mut chunk)?;
        if read == 0 {
            return Err("no answer".to_owned());
        }
        bytes.extend_from_slice(chunk.get(..read).unwrap_or_default());
    }
}

fn parse(bytes: &[u8]) -> Result<Option<(Answer, usize)>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(format!("malformed HTTP response: {error}")),
    };
    let value = |name: &str| {
        let mut headers = response.headers.iter();
        let header = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let code = response.code.unwrap_or(0);
    let answer = match code {
        200 => {
            if value("transfer-encoding").is_some() {
                return Err("the server answers in chunks, which nobody asked for".to_owned());
            }
            let length = value("content-length").map(|it| it.parse());
            let length = length.transpose();
            Answer::Body(Body {
                length: length.map_err(|_| "a Content-Length that is no number".to_owned())?,
                tag: value("etag").filter(|it| it.len() <= TAG_BYTES_MAX),
            })
        }
        301 | 302 | 303 | 307 | 308 => {
            let to = value("location");
            Answer::Elsewhere(to.ok_or_else(|| format!("{code} response missing Location header"))?)
        }
        304 => Answer::Unchanged,
        code => {
            let reason = response.reason.unwrap_or_default();
            return Err(format!("{code} {reason}").trim_end().to_owned());
        }
    };
    Ok(Some((answer, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_however_they_are_cut() {
        let said = b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 3\r\n\r\nabc";
        for cut in 1..said.len() {
            let (first, second) = said.split_at(cut);
            let mut parts = [first, second].into_iter();
            let (answer, early) = head(&mut |chunk: &mut [u8]| {
                let part = parts.next().unwrap_or_default();
                chunk[..part.len()].copy_from_slice(part);
                Ok(part.len())
            })
            .unwrap();
            let body = Body {
                length: Some(3),
                tag: Some("\"a\"".to_owned()),
            };
            assert_eq!(answer, Answer::Body(body));
            assert!(b"abc".starts_with(&early), "{cut}");
        }
    }

    #[test]
    fn what_is_no_good_answer_says_why() {
        for (said, want) in [
            ("HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found"),
            ("HTTP/1.1 302 Found\r\n\r\n", "302 response missing"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "no number"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "in chunks",
            ),
            ("SSH-2.0\r\n\r\n", "malformed"),
        ] {
            let why = parse(said.as_bytes()).unwrap_err();
            assert!(why.contains(want), "{why}");
        }
        assert_eq!(
            parse(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
            Ok(Some((Answer::Unchanged, 29)))
        );
    }
}
