use crate::limits::PARAMETERS_MAX;

/// The parameters of a request, read as Go's `net/url` and `strconv` read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    origin: Origin,
}

/// How the parameters came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    /// In the address of an HTTP request.
    #[default]
    Address,
    /// As the options of a request to the system account, which has some more.
    Options,
}

/// What is wrong with a request, in nats-server's words: an answer with status 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

/// How much is told of subscriptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subs {
    /// Nothing.
    #[default]
    Hidden,
    /// Their subjects.
    Listed,
    /// All of each.
    Detailed,
}

impl Query {
    /// Reads what follows the `?`. A pair that is not well escaped is left out.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.contains(';'));
        let read = pairs.filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(key)?, unescape(value)?))
        });
        Self {
            pairs: read.take(PARAMETERS_MAX).collect(),
            origin: Origin::Address,
        }
    }

    /// Parameters that came as options.
    pub(crate) const fn of(pairs: Vec<(String, String)>) -> Self {
        Self {
            pairs,
            origin: Origin::Options,
        }
    }

    /// With one parameter set to one value, whatever it was before.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.pairs.retain(|(key, _)| key != name);
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }

    /// All values of a parameter that is only an option.
    pub(crate) fn options(&self, name: &str) -> Vec<&str> {
        let has = self.origin == Origin::Options;
        let found = self.pairs.iter().filter(|(key, _)| has && key == name);
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// The first value of a parameter that is only an option, empty without one.
    pub(crate) fn option(&self, name: &str) -> &str {
        self.options(name).first().copied().unwrap_or_default()
    }

    /// The first value of a parameter, empty without one.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.pairs.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// A truth, false without one.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.text(name) {
            "" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            other => Err(undecodable("boolean", name, "ParseBool", other, SYNTAX)),
        }
    }

    /// A whole number, 0 without one.
    pub(crate) fn int(&self, name: &str) -> Result<i64, Refusal> {
        let text = self.text(name);
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        match (text, is_digits(digits)) {
            ("", _) => Ok(0),
            (_, false) => Err(undecodable("int", name, "Atoi", text, SYNTAX)),
            (_, true) => text
                .parse()
                .map_err(|_| undecodable("int", name, "Atoi", text, RANGE)),
        }
    }

    /// A whole number without a sign, 0 without one.
    pub(crate) fn uint(&self, name: &str) -> Result<u64, Refusal> {
        let text = self.text(name);
        let refused = |why| undecodable("uint64", name, "ParseUint", text, why);
        match (text, is_digits(text)) {
            ("", _) => Ok(0),
            (_, false) => Err(refused(SYNTAX)),
            (_, true) => text.parse().map_err(|_| refused(RANGE)),
        }
    }

    /// `subs=1` or `subs=detail`.
    pub(crate) fn subs(&self) -> Result<Subs, Refusal> {
        if self.text("subs").eq_ignore_ascii_case("detail") {
            return Ok(Subs::Detailed);
        }
        Ok(if self.flag("subs")? {
            Subs::Listed
        } else {
            Subs::Hidden
        })
    }
}

const SYNTAX: &str = "invalid syntax";
const RANGE: &str = "value out of range";

/// spec: nats-server v2.15.1 server/monitor.go `decodeBool`, `decodeInt`, `decodeUint64`
fn undecodable(what: &str, name: &str, function: &str, text: &str, why: &str) -> Refusal {
    Refusal(format!(
        "Error decoding {what} for '{name}': strconv.{function}: parsing {text:?}: {why}"
    ))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// `+` and `%XX`; `None` when an escape is none.
fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => hex(bytes.next()?)? * 16 + hex(bytes.next()?)?,
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_unescaped_and_the_first_one_counts() {
        let query = Query::parse("acc=a%20b+c&acc=x&empty&bad=%zz&cut=%4&semi=1;2&%61=1");
        assert_eq!(query.text("acc"), "a b c");
        for absent in ["empty", "bad", "cut", "semi", "other"] {
            assert_eq!(query.text(absent), "", "{absent}");
        }
        assert_eq!(query.flag("a"), Ok(true));
    }

    /// spec: answers of nats-server v2.15.1
    #[test]
    fn what_cannot_be_read_is_refused_in_gos_words() {
        let query = Query::parse("x=x&n=-1&big=99999999999999999999&s=%2B7&e=%22");
        for (answer, text) in [
            (
                query.flag("x").map(|_| ()),
                "Error decoding boolean for 'x': strconv.ParseBool: parsing \"x\": invalid syntax",
            ),
            (
                query.int("x").map(|_| ()),
                "Error decoding int for 'x': strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            (
                query.int("big").map(|_| ()),
                "Error decoding int for 'big': strconv.Atoi: parsing \"99999999999999999999\": value out of range",
            ),
            (
                query.uint("n").map(|_| ()),
                "Error decoding uint64 for 'n': strconv.ParseUint: parsing \"-1\": invalid syntax",
            ),
            (
                query.uint("e").map(|_| ()),
                "Error decoding uint64 for 'e': strconv.ParseUint: parsing \"\\\"\": invalid syntax",
            ),
        ] {
            assert_eq!(answer, Err(Refusal(text.to_owned())));
        }
        assert_eq!(
            (query.int("n"), query.int("s"), query.int("none")),
            (Ok(-1), Ok(7), Ok(0))
        );
        assert_eq!((query.uint("none"), query.flag("none")), (Ok(0), Ok(false)));
    }

    #[test]
    fn booleans_and_subs_have_gos_forms() {
        for (text, subs) in [
            ("subs=1", Subs::Listed),
            ("subs=T", Subs::Listed),
            ("subs=False", Subs::Hidden),
            ("", Subs::Hidden),
            ("subs=Detail", Subs::Detailed),
        ] {
            assert_eq!(Query::parse(text).subs(), Ok(subs), "{text}");
        }
        assert!(Query::parse("subs=tRUE").subs().is_err());
    }
}
