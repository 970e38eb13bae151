use crate::Refusal;
use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};

/// A request line and its headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `GET`, as sent.
    pub method: String,
    /// The digit after `HTTP/1.`.
    pub version: u8,
    /// What was asked for, without what follows a question mark.
    pub path: String,
    /// Names and values, as sent and in that order.
    pub headers: Vec<(String, String)>,
}

/// Why bytes are no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// More has to come.
    Partial,
    /// This is to be answered, and nothing else read.
    Refused(Refusal),
}

impl Head {
    /// Reads one at the start of `bytes`; also its length.
    ///
    /// # Errors
    /// It is not whole, or it is no request.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), HeadError> {
        let mut room = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut room);
        let length = match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
            Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => {
                return Err(HeadError::Partial);
            }
            Ok(_) | Err(httparse::Error::TooManyHeaders) => {
                return Err(HeadError::Refused(Refusal::TOO_LARGE));
            }
            Err(_) => return Err(HeadError::Refused(Refusal::NOT_HTTP)),
        };
        let headers = request.headers.iter();
        let head = Self {
            method: request.method.unwrap_or_default().to_owned(),
            version: request.version.unwrap_or(1),
            path: path_of(request.path.unwrap_or_default()).to_owned(),
            headers: headers
                .map(|header| {
                    let value = String::from_utf8_lossy(header.value);
                    (header.name.to_owned(), value.into_owned())
                })
                .collect(),
        };
        Ok((head, length))
    }

    /// The first value of a header.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut given = self.headers.iter();
        given
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Every value of a header.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let name = name.to_owned();
        self.headers
            .iter()
            .filter(move |(given, _)| given.eq_ignore_ascii_case(&name))
            .map(|(_, value)| value.as_str())
    }

    /// Whether a header's list of words holds this one, in any case.
    #[must_use]
    pub fn says(&self, name: &str, word: &str) -> bool {
        self.all(name)
            .flat_map(|value| value.split(','))
            .any(|token| token.trim_matches([' ', '\t']).eq_ignore_ascii_case(word))
    }
}

/// What is asked for: the path of `/path?query` or `http://host/path?query`.
fn path_of(target: &str) -> &str {
    let target = target.split(['?', '#']).next().unwrap_or_default();
    match target.split_once("://") {
        Some((_, rest)) => rest
            .find('/')
            .map_or("/", |at| rest.get(at..).unwrap_or("/")),
        None => target,
    }
}
