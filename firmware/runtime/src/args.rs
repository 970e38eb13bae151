//! Go's flag syntax, as nats-server takes it, brought into clap's form.

/// A flag of nats-server's: its spellings, and whether it stands without a value.
struct Flag {
    names: &'static [&'static str],
    takes: Takes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Value,
    Number,
    Switch,
}

const FLAGS: &[Flag] = &[
    value(&["addr", "a", "net"]),
    number(&["port", "p"]),
    value(&["name", "n", "server_name"]),
    value(&["pid", "P"]),
    number(&["http_port", "m"]),
    value(&["config", "c"]),
    switch(&["test", "t"]),
    value(&["signal", "sl"]),
    value(&["client_advertise"]),
    value(&["ports_file_dir"]),
    value(&["log", "l", "log_file"]),
    switch(&["logtime", "T"]),
    switch(&["logtime_utc"]),
    switch(&["debug", "D"]),
    switch(&["trace", "V"]),
    switch(&["VV"]),
    switch(&["DV"]),
    switch(&["DVV"]),
    switch(&["jetstream", "js"]),
    value(&["store_dir", "sd"]),
    value(&["user"]),
    value(&["pass"]),
    value(&["auth"]),
    switch(&["version", "v"]),
    switch(&["help", "h"]),
    number(&["https_port", "ms"]),
    switch(&["syslog", "s"]),
    value(&["remote_syslog", "r"]),
    number(&["log_size_limit"]),
    number(&["max_traced_msg_len"]),
    switch(&["tls"]),
    switch(&["tlsverify"]),
    value(&["tlscert"]),
    value(&["tlskey"]),
    value(&["tlscacert"]),
    value(&["routes"]),
    value(&["cluster", "cluster_listen"]),
    value(&["cluster_name"]),
    value(&["cluster_advertise"]),
    switch(&["no_advertise"]),
    number(&["connect_retries"]),
    number(&["profile"]),
];

const fn value(names: &'static [&'static str]) -> Flag {
    Flag {
        names,
        takes: Takes::Value,
    }
}

const fn number(names: &'static [&'static str]) -> Flag {
    Flag {
        names,
        takes: Takes::Number,
    }
}

const fn switch(names: &'static [&'static str]) -> Flag {
    Flag {
        names,
        takes: Takes::Switch,
    }
}

/// Rewrites `-js`, `-sd=DIR`, `--port 1`, `-D=false` to `--jetstream=true`, `--store_dir=DIR`,
/// `--port=1`, `--debug=false`. Words after the first that is no flag are left alone, and
/// `version` and `help` as that word are the flags of that name.
///
/// # Errors
/// The text to print for an unknown flag or word, or a flag whose value is missing.
pub(crate) fn normalise(words: impl IntoIterator<Item = String>) -> Result<Vec<String>, String> {
    let mut words = words.into_iter();
    let mut out: Vec<String> = words.next().into_iter().collect();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            match word.as_str() {
                "version" | "help" => out.push(format!("--{word}")),
                _ => return Err(format!("unrecognized command: {word:?}")),
            }
            continue;
        };
        let (name, given) = name
            .split_once('=')
            .map_or((name, None), |(n, v)| (n, Some(v.to_owned())));
        let flag = FLAGS.iter().find(|flag| flag.names.contains(&name));
        let flag = flag.ok_or_else(|| format!("flag provided but not defined: -{name}"))?;
        let canonical = flag.names.first().copied().unwrap_or_default();
        match (flag.takes, given) {
            (Takes::Switch, None) if matches!(canonical, "version" | "help") => {
                out.push(format!("--{canonical}"))
            }
            (Takes::Switch, given) => {
                let on = switch_value(name, given.as_deref().unwrap_or("true"))?;
                out.push(format!("--{canonical}={on}"));
            }
            (takes @ (Takes::Value | Takes::Number), given) => {
                let value = given.or_else(|| words.next());
                let value = value.ok_or_else(|| format!("flag needs an argument: -{name}"))?;
                if takes == Takes::Number && value.parse::<i64>().is_err() {
                    return Err(format!(
                        "invalid value {value:?} for flag -{name}: parse error"
                    ));
                }
                out.push(format!("--{canonical}={value}"));
            }
        }
    }
    Ok(out)
}

/// Go's `strconv.ParseBool`.
fn switch_value(name: &str, text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        other => Err(format!(
            "invalid boolean value {other:?} for -{name}: parse error"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<String, String> {
        normalise(line.split(' ').map(str::to_owned)).map(|words| words.join(" "))
    }

    #[test]
    fn every_spelling_of_a_flag_is_one_flag() {
        let want = "frond --jetstream=true --store_dir=/d --port=-1 --debug=false --trace=true";
        assert_eq!(run("frond -js -sd /d -p -1 -D=false -V").unwrap(), want);
        assert_eq!(
            run("frond --js -sd=/d --port=-1 -debug=f --trace").unwrap(),
            want
        );
        assert_eq!(run("frond version").unwrap(), "frond --version");
        assert_eq!(
            run("frond -config x.conf").unwrap(),
            "frond --config=x.conf"
        );
    }

    #[test]
    fn what_is_no_flag_is_named() {
        assert_eq!(
            run("frond start").unwrap_err(),
            "unrecognized command: \"start\""
        );
        assert_eq!(
            run("frond -zz").unwrap_err(),
            "flag provided but not defined: -zz"
        );
        assert_eq!(run("frond -c").unwrap_err(), "flag needs an argument: -c");
        assert_eq!(
            run("frond -p abc").unwrap_err(),
            "invalid value \"abc\" for flag -p: parse error"
        );
        assert!(
            run("frond -D=maybe")
                .unwrap_err()
                .contains("invalid boolean value")
        );
    }
}
